"""The gated delta rule on the matrix units of Metal 4: chunks of 16 steps forward, and backward from what they keep."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from conformance.results.case import Array, Case, Output, Size, Work, poisoned, tolerance
from conformance.results.mlx.gated_delta import Data, _data, _derivatives, _forward, _sizes
from conformance.results.mlx.templates import DTYPES, SHORT, TYPES, launch, normal, values

FORWARD, BACKWARD = "gated_delta_update_nax.h", "gated_delta_update_nax_vjp.h"
CHUNK = 16
LOOSE = 1e-4  # decays go through fast logarithms and exponentials


def _chunked(array: Array, batch: int, heads: int) -> Array:
    """(batch, heads, chunks, 16, ...) of (batch, steps, heads, ...); steps that are not there are zeros."""
    steps = array.shape[1]
    wide = [(0, 0)] * array.ndim
    wide[1] = (0, -steps % CHUNK)
    whole = np.pad(array, wide).swapaxes(1, 2)
    return whole.reshape(batch, heads, -1, CHUNK, *array.shape[3:])


def _kept(data: Data, before: Array) -> tuple[Array, Array, Array]:
    """What the forward kernel keeps of each chunk: its first state; K K', inverse of I + A, Q K'; what it learns."""
    q, k, v, g, beta = (values(data[name]) for name in ("q", "k", "v", "g", "beta"))
    batch, _, heads, _ = v.shape
    many = heads // q.shape[2]
    q, k = q.repeat(many, 2), k.repeat(many, 2)
    decayed = before * g.swapaxes(1, 2)[..., None, None]
    learned = (v.swapaxes(1, 2) - np.einsum("bhtvk,bthk->bhtv", decayed, k)) * beta.swapaxes(1, 2)[..., None]
    keys, asked, rates = (_chunked(array, batch, heads) for array in (k, q, beta))
    products = keys @ keys.swapaxes(-1, -2)
    inverse = np.linalg.inv(np.eye(CHUNK) + np.tril(products * rates[..., None], -1))
    matrices = np.stack([products, inverse, asked @ keys.swapaxes(-1, -2)], 3)
    return before[:, :, ::CHUNK], matrices, _chunked(learned.swapaxes(1, 2), batch, heads)


def _onward(rng: np.random.Generator, size: Size, type: str, steps: int, keeps: bool) -> Work:
    batch, hk, hv, dk, dv = _sizes(size)
    data = _data(rng, size, type, steps)
    out, before, state = _forward(data)
    y, last = poisoned(data["v"].shape, DTYPES[type]), poisoned(data["state"].shape)
    wanted = _kept(data, before)
    kept = [poisoned(array.shape) for array in wanted]
    step = launch(
        FORWARD,
        "gated_delta_fused_nax",
        (type, dk, dv, hk, hv, CHUNK, 1),
        (*(data[name] for name in ("q", "k", "v", "state", "g", "beta")), y, last, steps, *kept),
        (32, dv // 16, 1),
        grid=(32, dv // 16, batch * hv),
        constants={200: keeps},
    )
    outputs = [Output("y", y, out, max(LOOSE, tolerance(y, 1.5))), Output("state", last, state, LOOSE)]
    names = ("states", "matrices", "learned")
    outputs += [Output(*row, LOOSE) for row in zip(names, kept, wanted, strict=True)] if keeps else []
    return Work((step,), tuple(outputs))


def _back(rng: np.random.Generator, size: Size, type: str, steps: int, template: str) -> Work:
    """The kernel leaves what the sums of logarithms do; a second one makes the derivatives by g of it."""
    batch, hk, hv, dk, dv = _sizes(size)
    data = _data(rng, size, type, steps)
    co, ch = normal(rng, type, batch, steps, hv, dv), normal(rng, "float", batch, hv, dv, dk)
    _, before, _ = _forward(data)
    expected = _derivatives(data, before, co, ch)
    states, matrices, learned = (np.ascontiguousarray(a, np.float32) for a in _kept(data, before))
    found: dict[str, Any] = {name: poisoned(expected[name].shape) for name in ("v", "g", "beta", "state")}
    found |= {name: np.zeros(expected[name].shape, np.float32) for name in ("q", "k")}  # summed over heads
    once = template.endswith("nax1")
    given = (*(data[name] for name in ("q", "k", "v", "g", "beta")), co, ch, states, steps)
    made = tuple(found[name] for name in ("q", "k", "v", "g", "beta", "state"))
    step = launch(
        BACKWARD,
        template,
        (type, dk, dv, hk, hv, CHUNK, *(() if once else (1,))),
        (*given, *made, matrices, learned, *(() if once else (poisoned((batch, hv, dv, dk)),))),
        (32, dv // 16, 1),
        grid=(32, dv // 16, batch * hv),
    )
    after = launch(
        BACKWARD,
        "gated_delta_dgamma_to_dg",
        (type, CHUNK),
        (data["g"], found["g"], steps, hv, batch * hv),
        (batch * hv, 1, 1),
        grid=(batch * hv, -(-steps // CHUNK), 1),
    )
    return Work(
        (step, after),
        tuple(Output(f"d{name}", found[name], value, LOOSE) for name, value in expected.items()),
    )


def cases() -> list[Case]:
    made: list[Case] = []

    def add(name: str, make: Any) -> None:
        made.append(Case("mlx", "nax", name, make))

    for type, steps, keeps in ((TYPES[2], 37, True), (TYPES[1], 16, False)):
        add(
            f"gated_delta {SHORT[type]}, {steps} steps",
            partial(_onward, type=type, steps=steps, keeps=keeps),
        )
    for template in ("gated_delta_vjp_fused_nax", "gated_delta_vjp_fused_nax1"):
        add(
            f"{template} bf16, 21 steps",
            partial(_back, type=TYPES[2], steps=21, template=template),
        )
    return made
