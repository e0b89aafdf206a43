"""Two operands, the second broadcast in every way ggml allows; chains of them in one launch; repeats."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from conformance.results.case import Array, Case, Output, Size, Work, poisoned, tolerance
from conformance.results.ggml.tensors import DTYPES, fields, launch, nb, ne, random_tensor, values

OP, FUSED, ROW, COLUMNS = 1300, 1301, 1302, 1303  # function constants
OPERATIONS: dict[str, tuple[int, Callable[[Array, Array], Array]]] = {
    "add": (0, np.add),
    "sub": (1, np.subtract),
    "mul": (2, np.multiply),
    "div": (3, np.divide),
}
# How the second operand's shape differs from (2, 3, rows, columns).
BROADCASTS: dict[str, Callable[[int, int], tuple[int, ...]]] = {
    "same": lambda rows, columns: (2, 3, rows, columns),
    "over rows": lambda rows, columns: (2, 3, 1, columns),
    "over batches": lambda rows, columns: (1, 1, rows, columns),
    "over columns": lambda rows, columns: (2, 3, rows, 1),
    "repeated columns": lambda rows, columns: (1, 3, rows, columns // 4),
    "one row": lambda rows, columns: (1, 1, 1, columns),
}


def _tiled(y: Array, shape: tuple[int, ...]) -> Array:
    return np.tile(y, [a // b for a, b in zip(shape, y.shape, strict=True)])


def _binary(
    rng: np.random.Generator, size: Size, name: str, type: str, broadcast: str, fused: int, wide: bool
) -> Work:
    rows, columns = {"small": (3, 16), "large": (65, 512)}[size]
    if not wide:
        columns += 4 if broadcast == "repeated columns" else 1
    number, function = OPERATIONS[name]
    x = random_tensor(rng, type, (2, 3, rows, columns))
    shape = BROADCASTS[broadcast](rows, columns)
    several = random_tensor(rng, type, (fused, *shape))
    if name == "div":
        several = several + np.copysign(several.dtype.type(0.5), several)
    out = poisoned(x.shape, x.dtype)
    width = 4 if wide else 1
    given = fields(
        x,
        several[0],
        out,
        ne00=columns // width,
        ne10=shape[-1] // width,
        ne0=columns // width,
        offs=0,
        o1=[n * several[0].nbytes if n < fused else 0 for n in range(8)],
    )
    across = columns // width
    one_row = broadcast == "one row"
    threads = 1
    while 2 * threads < across and threads < 256:
        threads *= 2
    step = launch(
        "binbcast",
        f"kernel_bin_fuse_{type}_{type}_{type}{'_4' if wide else ''}",
        (given, x, several, out),
        (across, 6 * rows, 1) if one_row else (rows, 3, 2),
        (1, 1, 1) if one_row else (threads, 1, 1),
        constants={OP: number, FUSED: fused, ROW: one_row, COLUMNS: shape[-1] != columns},
    )
    expected = values(x)
    for y in several:
        expected = function(expected, _tiled(values(y), x.shape))
    return Work((step,), (Output("dst", out, expected, tolerance(out, fused)),))


def _add_id(rng: np.random.Generator, size: Size) -> Work:
    tokens, used, experts, columns = {"small": (3, 2, 5, 33), "large": (40, 4, 16, 1000)}[size]
    x = random_tensor(rng, "f32", (tokens, used, columns))
    y = random_tensor(rng, "f32", (experts, columns))
    ids = rng.integers(0, experts, (tokens, used), np.int32)
    out = poisoned(x.shape)
    given = fields(x, y, out, nb21=nb(ids)[1])
    step = launch(
        "binbcast", "kernel_add_id", (given, x, y, ids, out), (used, tokens, 1), (min(1024, columns), 1, 1)
    )
    return Work((step,), (Output("dst", out, values(x) + values(y)[ids], tolerance(out)),))


def _repeat(rng: np.random.Generator, size: Size, type: str) -> Work:
    rows, columns = {"small": (3, 7), "large": (30, 101)}[size]
    x = (rng.standard_normal((1, 2, rows, columns)) * 100).astype(DTYPES[type])
    expected = np.tile(x, (2, 1, 3, 2))
    out = poisoned(expected.shape, x.dtype)
    wide, high, deep, last = ne(out)
    step = launch(
        "binbcast",
        f"kernel_repeat_{type}",
        (fields(x, dst=out), x, out),
        (high, deep, last),
        (min(1024, wide), 1, 1),
    )
    return Work((step,), (Output("dst", out, expected),))


def cases() -> list[Case]:
    def case(name: str, make: Any, family: str = "binary") -> Case:
        return Case("ggml", family, name, make)

    made = []
    for n, broadcast in enumerate(BROADCASTS):
        wide_fits = broadcast != "over columns"
        for m, name in enumerate(OPERATIONS):
            type = ("f32", "f16")[(n + m) % 2]
            wide = wide_fits and (n + m) % 4 < 2
            make = partial(_binary, name=name, type=type, broadcast=broadcast, fused=1, wide=wide)
            made.append(case(f"{name} {broadcast} {type}{'x4' if wide else ''}", make))
    for broadcast, wide in (("same", True), ("one row", False)):
        make = partial(_binary, name="add", type="f32", broadcast=broadcast, fused=3, wide=wide)
        made.append(case(f"3 adds {broadcast}", make))
    made.append(case("add_id", _add_id))
    made += [case(f"repeat {t}", partial(_repeat, type=t)) for t in ("f32", "f16", "bf16", "i32", "i16")]
    return made
