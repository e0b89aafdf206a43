"""Steel's convolutions by implicit products: 2-D with many or few channels and filters, 3-D, and the general one.

Weights are followed by NaN: loaders of 2-D and 3-D weights read whole tiles of filters, past the last one, and a
result must not depend on what lies there (docs/found-in-the-wild.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from conformance.results.case import Array, Case, Output, Size, Work, poisoned, tolerance
from conformance.results.mlx.templates import (
    DTYPES,
    SHORT,
    TYPES,
    followed,
    ints,
    launch,
    normal,
    strides,
    up,
    values,
)  # fmt: skip

HEADERS = {2: "steel/conv/kernels/steel_conv.h", 3: "steel/conv/kernels/steel_conv_3d.h"}
GENERAL = "steel/conv/kernels/steel_conv_general.h"


@dataclass(frozen=True)
class Shape:
    """What is convolved: (N, spatial, C) with O filters. One number stands for every spatial axis."""

    batch: int
    channels: int
    filters: int
    input: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...] = ()
    padding: tuple[int, ...] = ()
    dilation: tuple[int, ...] = ()
    input_dilation: tuple[int, ...] = ()
    groups: int = 1
    flip: bool = False

    @property
    def axes(self) -> int:
        return len(self.input)

    def all(self, name: str) -> tuple[int, ...]:
        given: tuple[int, ...] = getattr(self, name)
        return given or (0 if name == "padding" else 1,) * self.axes

    @property
    def output(self) -> tuple[int, ...]:
        sizes = zip(self.input, self.kernel, self.all("stride"), self.all("padding"), self.all("dilation"),
                    self.all("input_dilation"), strict=True)  # fmt: skip
        return tuple((d * (i - 1) + 1 + 2 * p - k * (w - 1) - 1) // s + 1 for i, w, s, p, k, d in sizes)


def _expected(x: Array, w: Array, shape: Shape) -> Array:
    """By definition: for every place in the kernel, the products of what lies under it."""
    n = shape.axes
    spread = np.zeros(
        (
            x.shape[0],
            *(d * (i - 1) + 1 for d, i in zip(shape.all("input_dilation"), shape.input, strict=True)),
            x.shape[-1],
        )
    )
    spread[(slice(None), *(slice(None, None, d) for d in shape.all("input_dilation")))] = values(x)
    padded = np.pad(spread, [(0, 0), *((p, p) for p in shape.all("padding")), (0, 0)])
    weights = values(w)
    if shape.flip:
        weights = np.flip(weights, tuple(range(1, n + 1)))
    out = np.zeros((x.shape[0], *shape.output, shape.filters))
    per_in, per_out = shape.channels // shape.groups, shape.filters // shape.groups
    for place in np.ndindex(*shape.kernel):
        steps = zip(place, shape.all("dilation"), shape.output, shape.all("stride"), strict=True)
        window = padded[(slice(None), *(slice(p * k, p * k + (o - 1) * s + 1, s) for p, k, o, s in steps))]
        for g in range(shape.groups):
            inputs = window[..., g * per_in : (g + 1) * per_in]
            filters = weights[(slice(g * per_out, (g + 1) * per_out), *place)]
            out[..., g * per_out : (g + 1) * per_out] += inputs @ filters.T
    return out


def _struct(shape: Shape, x: Array, w: Array, out: Array) -> Array:
    n = shape.axes
    numbers = [(name, np.int32) for name in ("N", "C", "O")]
    numbers += [(name, np.int32, (n,)) for name in ("iS", "wS", "oS", "str", "pad", "kdil", "idil")]
    numbers += [(name, np.int64, (n + 2,)) for name in ("in_", "wt", "out")]
    numbers += [("groups", np.int32), ("flip", np.bool_)]
    made = np.zeros((), np.dtype(numbers, align=True))
    given = (
        shape.batch, shape.channels, shape.filters, shape.input, shape.kernel, shape.output, shape.all("stride"),
        shape.all("padding"), shape.all("dilation"), shape.all("input_dilation"), strides(x), strides(w), strides(out),
        shape.groups, shape.flip,
    )  # fmt: skip
    for (name, *_), value in zip(numbers, given, strict=True):
        made[name] = value
    return np.frombuffer(made.tobytes(), np.uint8).copy()


def _jumps(shape: Shape, x: Array, bk: int) -> tuple[int, ...]:
    """How far a loader moves in the input after each place in the kernel: w, h, (d,) and then channels."""
    sign = -1 if shape.flip else 1
    one = [stride * k for stride, k in zip(strides(x)[1:-1], shape.all("dilation"), strict=True)]
    found = []
    for axis in reversed(range(shape.axes)):
        back = sum((shape.kernel[a] - 1) * one[a] for a in range(axis + 1, shape.axes))
        found.append(sign * (one[axis] - back))
    whole = sum((size - 1) * jump for size, jump in zip(shape.kernel, one, strict=True))
    return (*found, bk - sign * whole)


def _data(rng: np.random.Generator, type: str, shape: Shape, rows: int) -> tuple[Array, Array, Array, Array]:
    """Input, weights, weights with rows of NaN behind them up to `rows` a group, and the output."""
    x = normal(rng, type, shape.batch, *shape.input, shape.channels)
    w = normal(rng, type, shape.filters, *shape.kernel, shape.channels // shape.groups)
    return (
        x,
        w,
        followed(w, rows * w[0].size),
        poisoned((shape.batch, *shape.output, shape.filters), DTYPES[type]),
    )


def _implicit(rng: np.random.Generator, size: Size, type: str, shape: Shape, bn: int = 0) -> Work:
    if size == "large":
        shape = replace(shape, batch=shape.batch + 1, input=tuple(2 * i + 1 for i in shape.input))
    per_in, per_out = shape.channels // shape.groups, shape.filters // shape.groups
    bm, bn, bk, wm, wn = (
        (32, 8, 16, 4, 1) if per_out <= 16 else (32, bn or (64 if per_out >= 64 else 32), 16, 2, 2)
    )
    x, w, weights, out = _data(rng, type, shape, bn)
    m, k = shape.batch * math.prod(shape.output), math.prod(shape.kernel) * per_in
    few = per_in if per_in <= 4 and shape.axes == 2 else 0
    places = math.prod(shape.kernel)
    iterations = places * up(per_in, bk) if not few else up(places * (per_in if few <= 2 else 4), bk)
    small = not few and max(shape.kernel) <= 16
    tiles = up(per_out, bn), up(m, bm)
    gemm = ints(m, per_out, k, iterations, *_jumps(shape, x, bk), *tiles, 0)
    special = (few, small) if shape.axes == 2 else (small,)
    step = launch(
        HEADERS[shape.axes],
        f"implicit_gemm_conv_{shape.axes}d",
        (type, bm, bn, bk, wm, wn, *special),
        (x, weights, out, _struct(shape, x, w, out), gemm.view(np.uint8)),
        (32, wn, wm),
        (*tiles, shape.groups),
    )
    return Work((step,), (Output("C", out, _expected(x, w, shape), _allowed(out, k)),))


def _general(rng: np.random.Generator, size: Size, type: str, shape: Shape) -> Work:
    """Any channels and any input dilation: outputs fall into classes that use the same places of the kernel."""
    if size == "large":
        shape = replace(shape, batch=shape.batch + 1, input=tuple(2 * i + 1 for i in shape.input))
    bm, bn, bk, wm, wn = 32, 32, 16, 2, 2
    x, w, _, out = _data(rng, type, shape, 0)
    inputs, dilations, steps = shape.all("input_dilation"), shape.all("dilation"), shape.all("stride")
    weight_jumps = [math.lcm(i, k) // k for i, k in zip(inputs, dilations, strict=True)]
    out_jumps = [math.lcm(i, s) // s for i, s in zip(inputs, steps, strict=True)]
    adjusted = [up(o, j) for o, j in zip(shape.output, out_jumps, strict=True)]
    rows = shape.batch * math.prod(adjusted)
    jumps = ints(*weight_jumps, *out_jumps, *adjusted, math.prod(adjusted), rows)
    k = math.prod(shape.kernel) * shape.channels
    tiles = up(shape.filters, bn), up(rows, bm)
    gemm = ints(
        shape.batch * math.prod(shape.output),
        shape.filters,
        k,
        up(shape.channels, bk),
        *_jumps(shape, x, bk),
        *tiles,
        0,
    )
    step = launch(
        GENERAL,
        "implicit_gemm_conv_2d_general",
        (type, bm, bn, bk, wm, wn),
        (
            x, w, out, _struct(shape, x, w, out), gemm.view(np.uint8), jumps.view(np.uint8),
            *(_bases(shape, axis, out_jumps[axis], weight_jumps[axis]).view(np.uint8) for axis in range(2)),
        ),
        (32, wn, wm),
        (*tiles, math.prod(out_jumps)),
        constants={200: shape.channels % bk == 0},
    )  # fmt: skip
    return Work((step,), (Output("C", out, _expected(x, w, shape), _allowed(out, k)),))


def _bases(shape: Shape, axis: int, classes: int, jump: int) -> Array:
    """For each class of outputs, the first place of the kernel that meets an input, and how many do."""
    size, dilation = shape.kernel[axis], shape.all("dilation")[axis]
    found = []
    for n in range(classes):
        at = n * shape.all("stride")[axis] - shape.all("padding")[axis] + (size - 1) * dilation * shape.flip
        base = 0
        while base < size and at % shape.all("input_dilation")[axis]:
            base, at = base + 1, at + (-dilation if shape.flip else dilation)
        found += [base, up(size - base, jump)]
    return ints(*found)


def _allowed(out: Array, k: int) -> float:
    return max(tolerance(out, 1.2), 1.5e-7 * (2 + k**0.5))


# Names say what the host chooses by: channels, filters; then what moves the loaders.
PLANAR = {
    "16 channels, 32 filters": Shape(1, 16, 32, (5, 6), (3, 3), padding=(1, 1)),
    "16 channels, 48 filters": Shape(1, 16, 48, (4, 5), (2, 2)),
    "16 channels, 5 filters, stride 2": Shape(2, 16, 5, (6, 7), (3, 2), stride=(2, 2), padding=(1, 0)),
    "16 channels, 64 filters, dilated": Shape(1, 16, 64, (6, 5), (2, 2), dilation=(2, 1)),
    "32 channels, 16 filters, flipped": Shape(1, 32, 16, (4, 5), (3, 2), padding=(1, 1), flip=True),
    "32 channels, 32 filters, 2 groups": Shape(1, 32, 64, (4, 3), (2, 2), padding=(1, 0), groups=2),
    "1 channel, 48 filters": Shape(1, 1, 48, (5, 6), (3, 3), padding=(1, 1)),
    "1 channel, 3 filters": Shape(2, 1, 3, (5, 4), (3, 3), padding=(1, 1)),
    "2 channels, 32 filters, flipped": Shape(1, 2, 32, (5, 6), (3, 2), padding=(1, 1), flip=True),
    "2 channels, 48 filters": Shape(1, 2, 48, (4, 6), (2, 2)),
    "3 channels, 16 filters, stride 2": Shape(1, 3, 16, (7, 6), (3, 3), stride=(2, 2), padding=(1, 1)),
    "3 channels, 48 filters": Shape(1, 3, 48, (5, 5), (3, 3)),
    "4 channels, 7 filters, dilated": Shape(1, 4, 7, (6, 6), (2, 3), dilation=(2, 1)),
    "16 channels, kernel of 17": Shape(1, 16, 8, (2, 18), (1, 17)),
}  # fmt: skip
SOLID = {
    "16 channels, 32 filters": Shape(1, 16, 32, (3, 4, 3), (2, 2, 2), padding=(1, 0, 1)),
    "16 channels, 48 filters, stride 2": Shape(1, 16, 48, (4, 3, 5), (2, 1, 2), stride=(2, 1, 2)),
    "32 channels, 8 filters, flipped": Shape(1, 32, 8, (3, 3, 3), (2, 2, 1), padding=(1, 1, 0), flip=True),
    "16 channels, 64 filters, dilated": Shape(1, 16, 64, (3, 4, 3), (2, 1, 2), dilation=(1, 1, 2)),
    "16 channels, kernel of 17": Shape(1, 16, 16, (1, 1, 18), (1, 1, 17)),
}
ANY = {
    "5 channels, 7 filters": Shape(1, 5, 7, (5, 6), (3, 3), padding=(1, 1)),
    "16 channels, 33 filters, input dilated": Shape(1, 16, 33, (3, 4), (3, 3), padding=(1, 1), input_dilation=(2, 2)),
    "19 channels, 9 filters, input dilated, stride 2": Shape(
        1, 19, 9, (4, 3), (2, 3), stride=(2, 1), padding=(0, 1), input_dilation=(3, 2)
    ),
    "20 channels, 40 filters, flipped, dilated": Shape(
        2, 20, 40, (4, 4), (2, 2), dilation=(2, 1), input_dilation=(1, 2), flip=True
    ),
}  # fmt: skip


def cases() -> list[Case]:
    made: list[Case] = []
    for words, table, make in (
        ("2-D", PLANAR, _implicit),
        ("3-D", SOLID, _implicit),
        ("general", ANY, _general),
    ):
        for n, (name, shape) in enumerate(table.items()):
            for type in (
                TYPES
                if n < 3 or (words == "2-D" and n % 3 == 0)
                else (TYPES[n % 3],)
                if n % 3
                else ("float",)
            ):
                made.append(
                    Case(
                        "mlx", "conv", f"{words} {SHORT[type]}, {name}", partial(make, type=type, shape=shape)
                    )
                )
    return made
