"""Kernels that move, fill or interpolate: pad, roll, upscale, pool, triangles; and two optimiser steps."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from conformance.results.case import Array, Case, Output, Size, Work, poisoned, tolerance
from conformance.results.ggml.tensors import DTYPES, fields, launch, ne, powers, random_tensor, values

CIRCULAR, ANTIALIAS = 2100, 1500  # function constants
SOLVE_GROUPS, SOLVE_N, SOLVE_K = 1000, 1001, 1002


def _diag(rng: np.random.Generator, size: Size) -> Work:
    n = {"small": 37, "large": 300}[size]
    x = random_tensor(rng, "f32", (2, 1, 1, n))
    out = poisoned((2, 1, n, n))
    # ggml's kernel steps over rows of its output by the input's row stride.
    step = launch("misc", "kernel_diag_f32", (fields(x, dst=out), x, out), (n, 1, 2), (32, 1, 1))
    expected = x.reshape(2, 1, 1, n) * np.eye(n, dtype=np.float32)
    return Work((step,), (Output("dst", out, expected),))


def _roll(rng: np.random.Generator, size: Size) -> Work:
    rows, columns = {"small": (5, 33), "large": (50, 1200)}[size]
    x = random_tensor(rng, "f32", (2, 3, rows, columns))
    out = poisoned(x.shape)
    given = fields(x, dst=out, s0=7, s1=-2, s2=1, s3=0)
    step = launch("misc", "kernel_roll_f32", (given, x, out), (rows, 3, 2), (min(1024, columns), 1, 1))
    expected = np.roll(x, (0, 1, -2, 7), axis=(0, 1, 2, 3))
    return Work((step,), (Output("dst", out, expected),))


def _pad(rng: np.random.Generator, size: Size, circular: bool) -> Work:
    rows, columns = {"small": (3, 31), "large": (40, 1500)}[size]
    x = random_tensor(rng, "f32", (1, 2, rows, columns))
    widths = ((0, 0), (1, 1), (2, 1), (3, 5))
    expected = np.pad(x, widths, mode="wrap" if circular else "constant")
    out = poisoned(expected.shape)
    given = fields(x, dst=out, lp0=3, lp1=2, lp2=1, lp3=0)
    wide, high, deep, last = ne(out)
    step = launch(
        "misc",
        "kernel_pad_f32",
        (given, x, out),
        (-(-wide // 1024) * high, deep, last),
        (min(wide, 64), 1, 1),
        constants={CIRCULAR: circular},
    )
    return Work((step,), (Output("dst", out, expected),))


def _pad_reflect(rng: np.random.Generator, size: Size) -> Work:
    rows, columns = {"small": (3, 31), "large": (40, 1500)}[size]
    x = random_tensor(rng, "f32", (2, 2, rows, columns))
    expected = np.pad(x, ((0, 0), (0, 0), (0, 0), (4, 6)), mode="reflect")
    out = poisoned(expected.shape)
    given = fields(x, dst=out, p0=4, p1=6)
    threads = min(1024, ne(out)[0])
    step = launch("misc", "kernel_pad_reflect_1d_f32", (given, x, out), (rows, 2, 2), (threads, 1, 1))
    return Work((step,), (Output("dst", out, expected),))


def _arange(rng: np.random.Generator, size: Size) -> Work:
    n = {"small": 77, "large": 5000}[size]
    out = poisoned(n)
    given = {"ne0": n, "start": -2.5, "step": 0.25}
    step = launch("misc", "kernel_arange_f32", (given, out), (1, 1, 1), (min(1024, n), 1, 1))
    return Work((step,), (Output("dst", out, -2.5 + 0.25 * np.arange(n)),))


def _timestep_embedding(rng: np.random.Generator, size: Size) -> Work:
    steps, dim = {"small": (3, 21), "large": (50, 321)}[size]
    x = rng.uniform(0, 20, steps).astype(np.float32)
    out = poisoned((steps, dim))
    given = fields(dst=out, dim=dim, max_period=10000)
    step = launch(
        "misc",
        "kernel_timestep_embedding_f32",
        (given, x, out),
        (steps, 1, 1),
        (min(1024, dim // 2), 1, 1),
    )
    half = dim // 2
    angles = values(x)[:, None] * np.exp(-np.log(10000) * np.arange(half) / half)
    expected = np.concatenate([np.cos(angles), np.sin(angles), np.zeros((steps, dim % 2))], -1)
    # An angle near 20 carries an error of 20 float roundings into its sine.
    return Work((step,), (Output("dst", out, expected, tolerance(out, 4)),))


def _tri(rng: np.random.Generator, size: Size, type: str, kind: int) -> Work:
    n = {"small": 37, "large": 300}[size]
    x = random_tensor(rng, type, (2, 1, n, n))
    out = poisoned(x.shape, DTYPES[type])
    step = launch(
        "tri",
        f"kernel_tri_{type}_{kind}",
        (fields(x, dst=out), x, out),
        (n, 1, 2),
        (min(powers(32, n, 1024), n), 1, 1),
    )
    kept = (np.triu, partial(np.triu, k=1), np.tril, partial(np.tril, k=-1))[kind]
    return Work((step,), (Output("dst", out, kept(values(x))),))


def _solve_tri(rng: np.random.Generator, size: Size) -> Work:
    n, k = {"small": (32, 5), "large": (64, 50)}[size]
    groups = 8
    lower = np.tril(random_tensor(rng, "f32", (2, 1, n, n))) * np.float32(0.2) + 2 * np.eye(
        n, dtype=np.float32
    )
    y = random_tensor(rng, "f32", (2, 1, n, k))
    out = np.full_like(y, 777)  # the kernel reads what it has not written, and multiplies it by zero: not NaN
    step = launch(
        "solve_tri",
        "kernel_solve_tri_f32",
        (fields(lower, y, out), lower, y, out),
        (-(-k // groups), 1, 2),
        (32, groups, 1),
        memory=n * groups * 4,
        constants={SOLVE_GROUPS: groups, SOLVE_N: n, SOLVE_K: k},
    )
    expected = np.linalg.solve(values(lower), values(y))
    return Work((step,), (Output("dst", out, expected, tolerance(out, 4)),))


def _pool_2d(rng: np.random.Generator, size: Size, kind: str) -> Work:
    channels, height, width = {"small": (3, 9, 11), "large": (32, 63, 65)}[size]
    x = random_tensor(rng, "f32", (2, channels, height, width))
    (k0, k1), (s0, s1), (p0, p1) = (3, 2), (2, 1), (1, 1)
    out_h, out_w = (height + 2 * p1 - k1) // s1 + 1, (width + 2 * p0 - k0) // s0 + 1
    out = poisoned((2, channels, out_h, out_w))
    given = {
        "k0": k0, "k1": k1, "s0": s0, "s1": s1, "p0": p0, "p1": p1,
        "IH": height, "IW": width, "OH": out_h, "OW": out_w, "np": out.size,
    }  # fmt: skip
    threads = min(256, out.size)
    step = launch(
        "pool",
        f"kernel_pool_2d_{kind}_f32",
        (given, x, out),
        (-(-out.size // threads), 1, 1),
        (threads, 1, 1),
    )
    empty = -np.inf if kind == "max" else 0.0
    bordered = np.pad(values(x), ((0, 0), (0, 0), (p1, p1), (p0, p0)), constant_values=empty)
    windows = np.lib.stride_tricks.sliding_window_view(bordered, (k1, k0), (2, 3))[:, :, ::s1, ::s0]
    expected = windows.max((-1, -2)) if kind == "max" else windows.mean((-1, -2))
    return Work((step,), (Output("dst", out, expected, tolerance(out)),))


def _pool_1d(rng: np.random.Generator, size: Size, kind: str) -> Work:
    rows, width = {"small": (4, 25), "large": (64, 501)}[size]
    x = random_tensor(rng, "f32", (rows, width))
    k, s, p = 4, 3, 1
    out_w = (width + 2 * p - k) // s + 1
    out = poisoned((rows, out_w))
    given = {"k0": k, "s0": s, "p0": p, "IW": width, "OW": out_w, "np": out.size}
    threads = min(256, out.size)
    step = launch(
        "pool",
        f"kernel_pool_1d_{kind}_f32",
        (given, x, out),
        (-(-out.size // threads), 1, 1),
        (threads, 1, 1),
    )
    bordered = np.pad(values(x), ((0, 0), (p, p)), constant_values=np.nan)
    windows = np.lib.stride_tricks.sliding_window_view(bordered, k, 1)[:, ::s]
    expected = np.nanmax(windows, -1) if kind == "max" else np.nanmean(windows, -1)
    return Work((step,), (Output("dst", out, expected, tolerance(out)),))


def _bicubic(x: Array) -> Array:
    """Keys' convolution weight with a = -0.75."""
    a, x = -0.75, np.abs(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0))


def _weights(old: int, new: int, kind: str, smooth: bool, aligned: bool) -> Array:
    """The matrix that interpolates one axis: (new, old)."""
    scale = (new - 1) / (old - 1) if aligned else new / old
    offset = 0.0 if aligned else 0.5
    at = (np.arange(new) + offset) / scale - offset
    whole = np.floor(at).astype(int)
    made = np.zeros((new, old))
    if kind == "nearest":
        made[np.arange(new), (np.arange(new) / scale).astype(int)] = 1
    elif smooth:
        support = max(1.0, 1 / scale)
        made = np.maximum(0, 1 - np.abs(np.arange(old) - at[:, None]) / support)
        made /= made.sum(-1, keepdims=True)
    else:
        kernel = _bicubic if kind == "bicubic" else (lambda d: np.maximum(0, 1 - np.abs(d)))
        for tap in range(-1, 3):
            place = np.clip(whole + tap, 0, old - 1)
            np.add.at(made, (np.arange(new), place), kernel(at - (whole + tap)))
    return made


def _upscale(
    rng: np.random.Generator, size: Size, kind: str, smooth: bool = False, aligned: bool = False
) -> Work:
    height, width = {"small": (5, 7), "large": (33, 47)}[size]
    new_h, new_w = (3, 4) if smooth else (2 * height + 1, 3 * width - 2)
    x = random_tensor(rng, "f32", (1, 2, height, width))
    out = poisoned((1, 2, new_h, new_w))
    sf0 = (new_w - 1) / (width - 1) if aligned else new_w / width
    sf1 = (new_h - 1) / (height - 1) if aligned else new_h / height
    given = fields(x, dst=out, sf0=sf0, sf1=sf1, sf2=1, sf3=1, poffs=0.0 if aligned else 0.5)
    step = launch(
        "upscale",
        f"kernel_upscale_{kind}_f32",
        (given, x, out),
        (new_h, 2, 1),
        (min(1024, new_w), 1, 1),
        constants={ANTIALIAS: smooth},
    )
    down, across = (_weights(*pair, kind, smooth, aligned) for pair in ((height, new_h), (width, new_w)))
    expected = down @ values(x) @ across.T
    # A place is computed in float, so the weights carry the rounding of coordinates up to the image's width.
    return Work((step,), (Output("dst", out, expected, tolerance(out, 0 if kind == "nearest" else width)),))


def _adamw(rng: np.random.Generator, size: Size) -> Work:
    n = {"small": 300, "large": 20_000}[size]
    x, g, m = random_tensor(rng, "f32", (3, n))
    v = np.abs(random_tensor(rng, "f32", (n,)))
    before = tuple(map(values, (x, g, m, v)))
    alpha, beta1, beta2, eps, decay, h1, h2 = pars = [1e-2, 0.9, 0.99, 1e-8, 0.1, 1.4, 1.2]
    x, m = x.copy(), m.copy()
    step = launch(
        "misc",
        "kernel_opt_step_adamw_f32",
        ({"np": n}, x, g, m, v, np.array(pars, np.float32)),
        (-(-n // 256), 1, 1),
        (256, 1, 1),
    )
    x0, g0, m0, v0 = before
    new_m, new_v = m0 * beta1 + g0 * (1 - beta1), v0 * beta2 + g0 * g0 * (1 - beta2)
    new_x = x0 * (1 - alpha * decay) - alpha * new_m * h1 / (np.sqrt(new_v * h2) + eps)
    outputs = (("x", x, new_x), ("m", m, new_m), ("v", v, new_v))
    return Work((step,), tuple(Output(name, a, e, tolerance(a, 2)) for name, a, e in outputs))


def _sgd(rng: np.random.Generator, size: Size) -> Work:
    n = {"small": 300, "large": 20_000}[size]
    x, g = random_tensor(rng, "f32", (2, n))
    x = x.copy()
    expected = values(x) * (1 - 0.01 * 0.1) - 0.01 * values(g)
    pars = np.array([0.01, 0.1], np.float32)
    step = launch(
        "misc", "kernel_opt_step_sgd_f32", ({"np": n}, x, g, pars), (-(-n // 256), 1, 1), (256, 1, 1)
    )
    return Work((step,), (Output("x", x, expected, tolerance(x)),))


def _snake(rng: np.random.Generator, size: Size, type: str) -> Work:
    channels, length = {"small": (3, 70), "large": (64, 1000)}[size]
    x = random_tensor(rng, type, (channels, length))
    a, b = rng.uniform(0.5, 2, (2, channels)).astype(np.float32)
    out = poisoned(x.shape, DTYPES[type])
    given = {"T": length, "C": channels}
    step = launch(
        "misc", f"kernel_snake_{type}", (given, x, a, b, out), (-(-x.size // 256), 1, 1), (256, 1, 1)
    )
    expected = values(x) + np.sin(values(a)[:, None] * values(x)) ** 2 * values(b)[:, None]
    return Work((step,), (Output("dst", out, expected, tolerance(out)),))


def _fwht(rng: np.random.Generator, size: Size, type: str, n: int) -> Work:
    """Hadamard's matrix times each row; up to 256 a row is a SIMD-group's, above it is a threadgroup's."""
    rows = {"small": 3, "large": 50}[size] if n <= 256 else 1
    x = random_tensor(rng, type, (rows, n))
    out = poisoned(x.shape)
    groups, threads = (rows, 256) if n > 256 else (-(-rows // 2), 64)
    step = launch(
        "misc", f"kernel_fwht_{type}_{n}", ({"nrows": rows}, x, out), (groups, 1, 1), (threads, 1, 1)
    )
    matrix = np.ones((1, 1))
    while len(matrix) < n:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return Work((step,), (Output("dst", out, values(x) @ matrix / np.sqrt(n), tolerance(out, 2)),))


def cases() -> list[Case]:
    def case(family: str, name: str, make: Any) -> Case:
        return Case("ggml", family, name, make)

    made = [
        case("shapes", "diag", _diag),
        case("shapes", "roll", _roll),
        case("shapes", "pad", partial(_pad, circular=False)),
        case("shapes", "pad circular", partial(_pad, circular=True)),
        case("shapes", "pad_reflect_1d", _pad_reflect),
        case("shapes", "arange", _arange),
        case("shapes", "timestep_embedding", _timestep_embedding),
        # Lanes read what lane 0 has just written, with nothing between: right only in lockstep.
        Case("ggml", "shapes", "solve_tri", _solve_tri, order="lockstep"),
        case("optimiser", "adamw", _adamw),
        case("optimiser", "sgd", _sgd),
    ]
    made += [
        case("shapes", f"tri {type} {kind}", partial(_tri, type=type, kind=kind))
        for kind, type in enumerate(("f32", "f16", "bf16", "f32"))
    ]
    made += [case("shapes", f"snake {type}", partial(_snake, type=type)) for type in ("f32", "f16", "bf16")]
    made += [
        case("shapes", f"fwht {type} {n}", partial(_fwht, type=type, n=n))
        for type, n in (("f32", 64), ("f16", 128), ("f32", 256), ("f32", 512), ("f16", 1024))
    ]
    for kind in ("max", "avg"):
        made.append(case("pool", f"pool_2d {kind}", partial(_pool_2d, kind=kind)))
        made.append(case("pool", f"pool_1d {kind}", partial(_pool_1d, kind=kind)))
    made += [
        case("upscale", kind, partial(_upscale, kind=kind)) for kind in ("nearest", "bilinear", "bicubic")
    ]
    made.append(
        case("upscale", "bilinear, corners aligned", partial(_upscale, kind="bilinear", aligned=True))
    )
    made.append(case("upscale", "bilinear, smooth", partial(_upscale, kind="bilinear", smooth=True)))
    return made
