"""AIR's intrinsics as a library of bitcode, compiled once from the table and kept in the cache."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache as memoise
from pathlib import Path

from metalloid import background, cache
from metalloid.air import intrinsics, tensors
from metalloid.errors import DeviceError
from metalloid.frontend import clang
from metalloid.frontend.header import header_arguments, header_key
from metalloid.source import MathMode
from metalloid.stamps import stamp

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
    return hashlib.sha256(repr((flags, header_key(), [stamp(path) for path in files])).encode()).hexdigest()


def tensor_library(names: Iterable[str]) -> Path:
    """Tensor operations, just those of one kernel: most kernels of a library have the same."""
    text = tensors.library_text(sorted(names))
    key = hashlib.sha256(f"{library_key()} {text}".encode()).hexdigest()
    return cache.default().path(
        key, "bc", lambda path: _build(f"{_PROLOGUE}{text}\n#pragma clang attribute pop\n", path, "-O1")
    )


def _built() -> Path:
    return cache.default().path(library_key(), "bc", lambda path: _build(_text(), path, "-O2"))


def _build(text: str, path: Path, level: str) -> None:
    flags = [*header_arguments(_MATH, False), *clang.language(_MATH, all_swizzles=False)]
    external = text.replace('extern "C"', 'extern "C" [[clang::sycl_external]]')
    result = clang.run([*flags, level, "-emit-llvm-bc", "-o", str(path), "-"], external)
    if result.failed:
        raise DeviceError(f"the library of AIR's intrinsics does not compile:\n{result.messages}")
