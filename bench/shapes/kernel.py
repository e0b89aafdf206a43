"""The kernel of a case on the CPU engine, called as a user calls it."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import metalloid as mt
from bench.shapes.textbook import TYPES, Case, Data
from metalloid.source import Source


@cache
def _library(file: str, kind: str, tile: int, threads: int):
    """A library for each number of threads: plans of launches keep it."""
    text = Path(__file__).with_name(f"{file}.metal").read_text()
    head = f"#define T {TYPES[kind][0]}\n#define TILE {tile or 16}\n"
    return mt.device("cpu").library(Source(head + text, f"{file}.metal"))


class Launcher:
    """A launch, again and again. `ready` comes before a row of calls."""

    def __init__(self, case: Case, data: Data, threads: int = 1) -> None:
        book = case.book
        self._kernel = _library(book.file, case.type, book.tile, threads)[book.kernel or book.name]
        self._given = (*data.arrays, *data.numbers)
        self._sizes = {"grid": data.grid, "threadgroup": case.group}
        self._threads = str(threads)

    def ready(self) -> None:
        os.environ["METALLOID_THREADS"] = self._threads

    def __call__(self) -> None:
        self._kernel(*self._given, **self._sizes)
