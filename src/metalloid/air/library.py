"""AIR's intrinsics as a library of bitcode, compiled once from the table and kept in the cache."""

from __future__ import annotations

import hashlib
from functools import cache as memoise
from pathlib import Path

from metalloid import background, cache
from metalloid.air import intrinsics
from metalloid.errors import DeviceError
from metalloid.frontend import clang
from metalloid.frontend.header import header_arguments, header_key
from metalloid.source import MathMode

# The header's cores are the same in every mode; without fast math nothing around them is loosened.
_MATH: MathMode = "safe"
_PROLOGUE = "#pragma clang attribute push(__attribute__((always_inline)), apply_to = function)\n"


# Compiled kernels hold atomics of 64 bits that the language does not offer.
_WIDE = "".join(
    f"template <> struct metal::__has_all_atomics<{type}> {{ static constexpr bool value = true; }};\n"
    for type in ("long", "ulong")
)


@memoise
def _text() -> str:
    functions = "\n".join(row.text for row in intrinsics.rows().values())
    return f"{_PROLOGUE}{_WIDE}{functions}\n#pragma clang attribute pop\n"


def library_path() -> Path:
    """The file that a kernel is linked with."""
    background.wait("air library")
    return _built()


def begin() -> None:
    """Build it in the background, unless it is there."""
    background.begin("air library", _built)


@memoise
def library_key() -> str:
    """Sizes and times stand for the table: to write it out costs a tenth of a second."""
    flags = clang.language(_MATH, all_swizzles=False)
    files = (Path(intrinsics.__file__), Path(__file__))
    stamps = [(path.name, (status := path.stat()).st_size, status.st_mtime_ns) for path in files]
    return hashlib.sha256(repr((flags, header_key(), stamps)).encode()).hexdigest()


def _built() -> Path:
    def build(path: Path) -> None:
        flags = [*header_arguments(_MATH, False), *clang.language(_MATH, all_swizzles=False)]
        external = _text().replace('extern "C"', 'extern "C" [[clang::sycl_external]]')
        result = clang.run([*flags, "-O2", "-emit-llvm-bc", "-o", str(path), "-"], external)
        if result.failed:
            raise DeviceError(f"the library of AIR's intrinsics does not compile:\n{result.messages}")

    return cache.default().path(library_key(), "bc", build)
