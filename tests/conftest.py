"""Tests keep compiled kernels in the project's own cache, not in the user's."""

import os
from pathlib import Path

os.environ.setdefault("METALLOID_CACHE_DIR", str(Path(__file__).parents[1] / ".cache"))
