"""Rotary position embedding in ggml's four arrangements, with YaRN scaling and frequency factors."""

from __future__ import annotations

from functools import partial

import numpy as np

from conformance.results.case import Array, Case, Output, Size, Work, poisoned, tolerance
from conformance.results.ggml.tensors import DTYPES, fields, launch, random_tensor, values

INTERLEAVED, BACKWARDS = 800, 801  # function constants
BASE, CONTEXT, FAST, SLOW = 10000.0, 4096, 32.0, 1.0
SECTIONS = (4, 3, 2, 3)  # of the 12 pairs: time, height, width, extra


def _angles(pairs: Array, position: Array, dims: int, scale: float, extension: float) -> tuple[Array, Array]:
    """Angle and magnitude of each (position, pair), by the YaRN paper's interpolation."""
    theta = position * BASE ** (-2 * pairs / dims)
    if extension == 0:
        return scale * theta, np.ones_like(theta)

    def corrected(rotations: float) -> float:
        return float(dims * np.log(CONTEXT / (rotations * 2 * np.pi)) / (2 * np.log(BASE)))

    low = max(0.0, np.floor(corrected(FAST)))
    high = min(dims - 1.0, np.ceil(corrected(SLOW)))
    ramp = 1 - np.clip((pairs - low) / max(0.001, high - low), 0, 1)
    mix = ramp * extension
    magnitude = 1 + 0.1 * np.log(1 / scale)
    return scale * theta * (1 - mix) + theta * mix, np.full_like(theta, magnitude)


def _sector_axis(sector: int, interleaved: bool) -> int:
    """Which of the four positions a pair takes its angle from."""
    time, height, width, _ = SECTIONS
    if not interleaved:
        return int(np.searchsorted(np.cumsum((time, height, width)), sector, side="right"))
    for axis, remainder, count in ((1, 1, height), (2, 2, width), (0, 0, time)):
        if sector % 3 == remainder and sector < 3 * count:
            return axis
    return 3


def _rope(
    rng: np.random.Generator,
    size: Size,
    kind: str,
    type: str,
    extension: float = 0.0,
    factors: bool = False,
    backwards: bool = False,
    interleaved: bool = False,
    offset: int = 0,
) -> Work:
    batch, tokens, heads = {"small": (2, 3, 2), "large": (2, 64, 8)}[size]
    dims, columns = (24, 24 + 8) if kind != "vision" else (12, 24)
    x = random_tensor(rng, type, (batch, tokens, heads, columns))
    several = kind in ("multi", "vision")
    positions = rng.integers(0, 100, (4 if several else 1, tokens), np.int32)
    factor = rng.uniform(0.5, 2, 12).astype(np.float32)
    out = poisoned(x.shape, DTYPES[type])
    scale = 0.5 if extension else 1.0
    given = fields(
        x, dst=out, n_past=0, n_dims=dims, n_offs=offset, n_ctx_orig=CONTEXT, freq_base=BASE,
        freq_scale=scale, ext_factor=extension, attn_factor=1.0, beta_fast=FAST, beta_slow=SLOW,
        src2=factors, inplace=False,
        **{f"sect_{n}": s for n, s in enumerate(SECTIONS if kind == "multi" else (6, 6, 0, 0))},
    )  # fmt: skip
    step = launch(
        "rope",
        f"kernel_rope_{kind}_{type}",
        (given, x, positions, factor if factors else x, out),
        (heads, tokens, batch),
        (min(1024, columns), 1, 1),
        constants={INTERLEAVED: interleaved, BACKWARDS: backwards},
    )
    pairs = np.arange(12, dtype=np.float64)
    at = values(positions)
    if kind == "multi":
        axes = [_sector_axis(int(p), interleaved) for p in pairs]
        chosen = np.stack([at[axis] for axis in axes], -1)
    elif kind == "vision":
        chosen = np.where(pairs < 6, at[0][:, None], at[1][:, None])
        pairs = pairs % 6
    else:
        chosen = at[0][:, None]
    # The vision form spaces its angles over all of n_dims: pair p turns by base^(-2p/n_dims).
    theta, magnitude = _angles(pairs, chosen / (values(factor) if factors else 1), dims, scale, extension)
    cos, sin = np.cos(theta) * magnitude, np.sin(theta) * magnitude * (-1 if backwards else 1)
    first = np.arange(12) * 2 if kind == "norm" else np.arange(12)
    second = first + (1 if kind == "norm" else 12)
    expected = values(x)
    a, b = expected[..., offset + first].copy(), expected[..., offset + second].copy()
    cos, sin = cos[None, :, None, :], sin[None, :, None, :]
    expected[..., offset + first] = a * cos - b * sin
    expected[..., offset + second] = a * sin + b * cos
    # An angle near 100 carries an error of 100 float roundings into its sine.
    return Work((step,), (Output("dst", out, expected, tolerance(out) + 1e-5),))


def cases() -> list[Case]:
    made = [
        Case("ggml", "rope", f"{kind} {type}", partial(_rope, kind=kind, type=type))
        for kind in ("norm", "neox", "multi", "vision")
        for type in ("f32", "f16")
    ]
    for name, make in (
        ("norm yarn", partial(_rope, kind="norm", type="f32", extension=1.0)),
        ("neox yarn", partial(_rope, kind="neox", type="f32", extension=0.7)),
        ("neox factors, backwards", partial(_rope, kind="neox", type="f32", factors=True, backwards=True)),
        ("norm offset", partial(_rope, kind="norm", type="f32", offset=4)),
        ("multi interleaved", partial(_rope, kind="multi", type="f32", interleaved=True)),
    ):
        made.append(Case("ggml", "rope", name, make))
    return made
