"""Where the clang lies that metalloid carries: devices compile their runtimes with it."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from metalloid.errors import DeviceError


def compiler() -> str:
    spec = find_spec("ziglang")
    if spec is None or not spec.submodule_search_locations:
        raise DeviceError("the compiler is missing: install the package 'ziglang' (pip install ziglang)")
    return str(Path(spec.submodule_search_locations[0]) / ("zig.exe" if sys.platform == "win32" else "zig"))
