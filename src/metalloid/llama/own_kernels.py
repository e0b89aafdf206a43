"""Kernels of a Llama that stand beside this file, not in the library of kernels."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from metalloid.kernels.families import HERE, target
from metalloid.runtime.kernel import Kernel
from metalloid.runtime.library import Library
from metalloid.source import Source


@cache
def _library(file: str) -> Library:
    source = Source.from_file(Path(__file__).with_name(file), math="safe", include=(HERE,))
    return Library(target(), source, {}, trusted=True)


@cache
def own_kernel(file: str, name: str) -> Kernel:
    return _library(file)[name]
