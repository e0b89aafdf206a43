"""The same computations as plain loops in C, by the clang that metalloid carries: -O3 -march=native -ffast-math.

`BENCH_C_FLAGS` adds flags. With `ROUNDED` C rounds each step of halves, as Metal does.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from bench.shapes.textbook import TYPES, Case, Data
from metalloid.backends.toolchain import compiler

FLAGS = ("-O3", "-march=native", "-ffast-math", "-fno-sanitize=undefined", "-shared", "-fPIC", "-w")
ROUNDED = ("-Xclang", "-ffloat16-excess-precision=none")
_FOLDER = tempfile.TemporaryDirectory(prefix="shapes")


@cache
def _library(file: str, kind: str, flags: tuple[str, ...]) -> ctypes.CDLL:
    made = Path(_FOLDER.name) / f"{file}_{kind}{len(flags)}.so"
    source = Path(__file__).with_name(f"{file}.c")
    more = os.environ.get("BENCH_C_FLAGS", "").split()
    command = [
        compiler(),
        "cc",
        *FLAGS,
        *more,
        *flags,
        f"-DT={TYPES[kind][1]}",
        "-o",
        str(made),
        str(source),
        "-lm",
    ]
    subprocess.run(command, check=True, capture_output=True)
    return ctypes.CDLL(str(made))


def loops(case: Case, data: Data, flags: tuple[str, ...] = ()) -> Callable[[], object]:
    function = _library(case.book.file, case.type, flags)[case.book.c or case.book.name]
    function.restype = None
    given = [ctypes.c_void_p(a.ctypes.data) for a in data.arrays]
    numbers = [ctypes.c_int(n) for n in (*data.numbers, *data.more)]
    return lambda: function(*given, *numbers)
