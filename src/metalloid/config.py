"""Every environment variable metalloid reads, typed, in one place."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def cache_directory() -> Path:
    """METALLOID_CACHE_DIR: where compiled kernels are kept."""
    override = os.environ.get("METALLOID_CACHE_DIR")
    return Path(override) if override else Path(platformdirs.user_cache_dir("metalloid"))


def cache_bytes() -> int:
    """METALLOID_CACHE_BYTES: how large the cache may grow; 0 turns it off."""
    return int(os.environ.get("METALLOID_CACHE_BYTES", 1 << 30))
