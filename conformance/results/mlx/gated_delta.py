"""The gated delta rule: state S of (values, keys) decays by g, and learns v at k by beta; y is S q.

Step after step, in chunks of 8 with matrices, and backwards from kept states with atomic sums.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from conformance.results.case import Array, Case, Output, Size, Work, poisoned, tolerance
from conformance.results.mlx.templates import DTYPES, SHORT, TYPES, launch, normal, values

FORWARD, BACKWARD = "gated_delta_update.h", "gated_delta_update_vjp.h"
Data = dict[str, Array]


def _sizes(size: Size) -> tuple[int, int, int, int, int]:
    """Batch, heads of keys and of values, and the sizes of their vectors."""
    return {"small": (1, 1, 2, 32, 32), "large": (2, 2, 4, 64, 64)}[size]  # type: ignore[return-value]


def _data(rng: np.random.Generator, size: Size, type: str, steps: int) -> Data:
    batch, hk, hv, dk, dv = _sizes(size)
    shapes = {"q": (hk, dk), "k": (hk, dk), "v": (hv, dv)}
    made = {name: normal(rng, type, batch, steps, *shape, scale=dk**-0.5) for name, shape in shapes.items()}
    for name in ("g", "beta"):
        made[name] = rng.uniform(0.3, 0.99, (batch, steps, hv)).astype(DTYPES[type])
    made["state"] = normal(rng, "float", batch, hv, dv, dk)
    return made


def _forward(data: Data) -> tuple[Array, Array, Array]:
    """What comes out, the state before every step, and the last one."""
    q, k, v, g, beta, state = (values(data[name]) for name in ("q", "k", "v", "g", "beta", "state"))
    many = v.shape[2] // q.shape[2]
    q, k = q.repeat(many, 2), k.repeat(many, 2)
    out, before = np.zeros(v.shape), []
    for t in range(v.shape[1]):
        before.append(state)
        state = state * g[:, t, :, None, None]
        delta = (v[:, t] - np.einsum("bhvk,bhk->bhv", state, k[:, t])) * beta[:, t, :, None]
        state = state + delta[..., None] * k[:, t, :, None]
        out[:, t] = np.einsum("bhvk,bhk->bhv", state, q[:, t])
    return out, np.stack(before, 2), state


def _work(
    rng: np.random.Generator, size: Size, type: str, kernel: str, steps: int, each: int, kept: bool
) -> Work:
    """`each` is the chunk's length, or how many steps lie between two states that are kept."""
    batch, hk, hv, dk, dv = _sizes(size)
    data = _data(rng, size, type, steps)
    y, last = poisoned(data["v"].shape, DTYPES[type]), poisoned(data["state"].shape)
    cache = poisoned((batch, hv, -(-steps // each), dv, dk))
    chunked = kernel == "gated_delta_fused_chunk"
    step = launch(
        FORWARD,
        kernel,
        (type, dk, dv, hk, hv, each),
        (
            *(data[name] for name in ("q", "k", "v", "state", "g", "beta")), y, last, steps,
            *((cache,) if kept else ()),
        ),
        (32, 4, 1),
        grid=(32, dv // 8 if chunked else dv, batch * hv),
        constants={200: kept},
    )  # fmt: skip
    out, before, state = _forward(data)
    loose = 1e-4 if chunked else 2e-6  # chunks go through fast logarithms and exponentials
    outputs = [Output("y", y, out, max(loose, tolerance(y, 1.5))), Output("state", last, state, loose)]
    if kept:
        outputs.append(Output("cache", cache, before[:, :, ::each], loose))
    return Work((step,), tuple(outputs))


def _exact(rng: np.random.Generator, size: Size, type: str, steps: int) -> Data:
    """Few and small integers, and halves: every sum is exact, so that the order of atomic ones is all the same."""
    data = _data(rng, size, type, steps)
    for name in ("q", "k", "v", "state"):
        array = data[name]
        sparse = rng.integers(-1, 2, array.shape) * (rng.random(array.shape) < 0.15)
        data[name] = sparse.astype(array.dtype)
    for name in ("g", "beta"):
        data[name] = rng.choice([0.5, 1.0], data[name].shape).astype(DTYPES[type])
    return data


def _backward(rng: np.random.Generator, size: Size, type: str, steps: int, each: int) -> Work:
    batch, hk, hv, dk, dv = _sizes(size)
    data = _exact(rng, size, type, steps)
    given = _exact(rng, size, type, steps)
    co, ch = given["v"], given["state"]
    _, before, _ = _forward(data)
    cache = np.ascontiguousarray(before[:, :, ::each].astype(np.float32))
    expected = _derivatives(data, before, co, ch)
    sums: dict[str, Array] = {
        name: np.zeros(expected[name].shape, np.float32) for name in ("q", "k", "g", "beta")
    }
    whole = {name: poisoned(expected[name].shape) for name in ("v", "state")}
    step = launch(
        BACKWARD,
        "gated_delta_vjp_seq",
        (type, dk, dv, hk, hv, each),
        (
            *(data[name] for name in ("q", "k", "v", "g", "beta")), co, ch, cache, steps,
            sums["q"], sums["k"], whole["v"], sums["g"], sums["beta"], whole["state"],
        ),
        (32, 4, 1),
        grid=(32, dv, batch * hv),
    )  # fmt: skip
    actual: dict[str, Any] = sums | whole
    return Work((step,), tuple(Output(f"d{name}", actual[name], value) for name, value in expected.items()))


def _derivatives(data: Data, before: Array, co: Array, ch: Array) -> Data:
    q, k, v, g, beta = (values(data[name]) for name in ("q", "k", "v", "g", "beta"))
    batch, steps, hk, dk = q.shape
    many = v.shape[2] // hk
    q, k, out, bar = q.repeat(many, 2), k.repeat(many, 2), values(co), values(ch)
    found = {name: np.zeros(a.shape) for name, a in (("q", q), ("k", k), ("v", v), ("g", g), ("beta", beta))}
    for t in reversed(range(steps)):
        decayed = before[:, :, t] * g[:, t, :, None, None]
        rate = beta[:, t, :, None]
        bar = bar + out[:, t, :, :, None] * q[:, t, :, None]
        w = np.einsum("bhvk,bhk->bhv", bar, k[:, t])
        u = v[:, t] - np.einsum("bhvk,bhk->bhv", decayed, k[:, t])
        after = decayed + (rate * u)[..., None] * k[:, t, :, None]
        found["v"][:, t], found["beta"][:, t] = rate * w, (w * u).sum(-1)
        found["q"][:, t] = np.einsum("bhv,bhvk->bhk", out[:, t], after)
        crossed = np.einsum("bhv,bhvk->bhk", u, bar) - np.einsum("bhv,bhvk->bhk", w, decayed)
        found["k"][:, t] = rate * crossed
        bar = bar - (rate * w)[..., None] * k[:, t, :, None]
        found["g"][:, t] = (bar * before[:, :, t]).sum((-1, -2))
        bar = bar * g[:, t, :, None, None]
    for name in ("q", "k"):  # heads of values share heads of keys
        found[name] = found[name].reshape(batch, steps, hk, many, dk).sum(3)
    return found | {"state": bar}


def cases() -> list[Case]:
    made: list[Case] = []

    def add(name: str, make: Any) -> None:
        made.append(Case("mlx", "gated_delta", name, make))

    for type in TYPES:
        for steps in (8, 11, 3):
            chunks = {"kernel": "gated_delta_fused_chunk", "each": 8, "kept": False}
            add(f"chunks {SHORT[type]}, {steps} steps", partial(_work, type=type, steps=steps, **chunks))
        one = {"kernel": "gated_delta_seq", "each": 1, "kept": False}
        add(f"sequence {SHORT[type]}, 3 steps", partial(_work, type=type, steps=3, **one))
        kept = {"kernel": "gated_delta_seq", "each": 2, "kept": True}
        add(f"sequence {SHORT[type]}, 5 steps, states kept", partial(_work, type=type, steps=5, **kept))
        add(f"backwards {SHORT[type]}, 3 steps", partial(_backward, type=type, steps=3, each=2))
    return made
