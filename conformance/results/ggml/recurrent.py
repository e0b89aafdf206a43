"""Recurrences over tokens: Mamba's convolution and scan, RWKV 6 and 7, the gated delta rule."""

from __future__ import annotations

from functools import partial

import numpy as np

from conformance.results.case import Case, Output, Size, Work, poisoned, tolerance
from conformance.results.ggml.tensors import fields, launch, padded, random_tensor, values
from metalloid.source import Constant

BATCH, SILU, WIDTH = 900, 901, 902  # function constants
DELTA_SIZE, DELTA_GATES, DELTA_SNAPSHOTS = 1600, 1601, 1602


def _ssm_conv(rng: np.random.Generator, size: Size, batched: bool, wide: bool, silu: bool) -> Work:
    sequences, channels, tokens = {"small": (2, 3, 11), "large": (2, 200, 130)}[size]
    width = 4 if wide else 3
    x = random_tensor(rng, "f32", (sequences, channels, tokens + width - 1))
    weight = random_tensor(rng, "f32", (channels, width))
    out = poisoned((sequences, tokens, channels))
    batch = 16
    name = f"kernel_ssm_conv_f32_f32{'_batched' if batched else ''}{'_4' if wide else ''}"
    constants: dict[str | int, Constant] = {SILU: silu, WIDTH: width}
    if batched:
        constants[BATCH] = batch
    step = launch(
        "ssm",
        name,
        (fields(x, weight, out), x, weight, out),
        (channels, -(-tokens // batch) if batched else tokens, sequences),
        (batch if batched else 1, 1, 1),
        constants=constants,
    )
    windows = np.lib.stride_tricks.sliding_window_view(values(x), width, -1)
    expected = np.einsum("sctw,cw->stc", windows, values(weight))
    expected = expected / (1 + np.exp(-expected)) if silu else expected
    return Work((step,), (Output("dst", out, expected, tolerance(out)),))


def _ssm_scan(rng: np.random.Generator, size: Size, states: int, snapshots: int) -> Work:
    """Mamba 2: one decay per head; Mamba 1 has one per state. The new states follow the output."""
    sequences, tokens, heads, dim = {"small": (2, 3, 2, 2), "large": (2, 20, 8, 16)}[size]
    groups = heads // 2
    state = random_tensor(rng, "f32", (3, heads, dim, states))
    x = random_tensor(rng, "f32", (sequences, tokens, heads, dim))
    dt = random_tensor(rng, "f32", (sequences, tokens, heads))
    decay = -np.abs(random_tensor(rng, "f32", (heads, 1)))
    b, c = (random_tensor(rng, "f32", (sequences, tokens, groups, states)) for _ in range(2))
    ids = np.array([2, 0], np.int32)
    out = poisoned(x.size + max(snapshots, 1) * sequences * heads * dim * states)
    given = fields(
        state, x, None, dt,
        d_state=states, d_inner=dim, n_head=heads, n_group=groups, n_seq_tokens=tokens,
        n_seq_tokens_total=tokens, token_offset=0, n_seqs=sequences, K=snapshots, s_off=x.nbytes,
        ns12=heads * dim, ns21=heads, ne30=1, nb31=4, nb41=states * 4, nb42=groups * states * 4,
        ns42=groups * states, nb43=b.strides[0], nb51=states * 4, nb52=groups * states * 4,
        ns52=groups * states, nb53=c.strides[0], nb0=4,
    )  # fmt: skip
    threadgroups = -(-states // 32)
    step = launch(
        "ssm",
        "kernel_ssm_scan_f32",
        (given, state, x, dt, decay, b, c, ids, out),
        (dim, heads, sequences),
        (states, 1, 1),
        memory=padded(34 * 4 * threadgroups),
    )
    now = values(state)[ids]
    steps = np.log1p(np.exp(values(dt)))
    by_head = np.arange(heads) // (heads // groups)
    ys, history = [], []
    for t in range(tokens):
        step_size = steps[:, t, :, None, None]
        now = now * np.exp(step_size * values(decay)[None, :, :, None]) + (
            values(b)[:, t, by_head][:, :, None, :] * values(x)[:, t, :, :, None] * step_size
        )
        ys.append(np.einsum("shdn,shn->shd", now, values(c)[:, t, by_head]))
        history.append(now)
    kept = [history[-1 - n] for n in range(max(snapshots, 1))]
    expected = np.concatenate([np.stack(ys, 1).ravel(), np.stack(kept).ravel()])
    return Work((step,), (Output("dst", out, expected, tolerance(out)),))


def _wkv6(rng: np.random.Generator, size: Size) -> Work:
    batch, tokens, heads, n = *{"small": (1, 2, 1), "large": (2, 16, 4)}[size], 64
    k, v, r = (random_tensor(rng, "f32", (batch, tokens, heads, n)) for _ in range(3))
    bonus = random_tensor(rng, "f32", (heads, n))
    decay = rng.uniform(0.3, 1, (batch, tokens, heads, n)).astype(np.float32)
    state = random_tensor(rng, "f32", (batch, heads, n, n))
    out = poisoned(k.size + state.size)
    sizes = (batch, batch * tokens, heads * n, heads)
    step = launch(
        "wkv",
        "kernel_rwkv_wkv6_f32",
        (k, v, r, bonus, decay, state, out, *sizes),
        (batch * heads, 1, 1),
        (n, 1, 1),
    )
    now, ys = values(state), []
    for t in range(tokens):
        kv = values(k)[:, t, :, :, None] * values(v)[:, t, :, None, :]
        ys.append(np.einsum("bhi,bhij->bhj", values(r)[:, t], now + values(bonus)[None, :, :, None] * kv))
        now = now * values(decay)[:, t, :, :, None] + kv
    expected = np.concatenate([np.stack(ys, 1).ravel(), now.ravel()])
    return Work((step,), (Output("dst", out, expected, tolerance(out)),))


def _wkv7(rng: np.random.Generator, size: Size) -> Work:
    batch, tokens, heads, n = *{"small": (1, 2, 1), "large": (2, 16, 4)}[size], 64
    r, k, v, a, b = (random_tensor(rng, "f32", (batch, tokens, heads, n)) * np.float32(0.3) for _ in range(5))
    w = rng.uniform(0.3, 1, (batch, tokens, heads, n)).astype(np.float32)
    state = random_tensor(rng, "f32", (batch, heads, n, n))
    out = poisoned(k.size + state.size)
    sizes = (batch, batch * tokens, heads * n, heads)
    step = launch(
        "wkv",
        "kernel_rwkv_wkv7_f32",
        (r, w, k, v, a, b, state, out, *sizes),
        (batch * heads, 1, 1),
        (n, 1, 1),
    )
    now, ys = values(state), []
    for t in range(tokens):
        seen = np.einsum("bhij,bhj->bhi", now, values(a)[:, t])
        now = now * values(w)[:, t, :, None, :] + values(v)[:, t, :, :, None] * values(k)[:, t, :, None, :]
        now = now + seen[..., None] * values(b)[:, t, :, None, :]
        ys.append(np.einsum("bhij,bhj->bhi", now, values(r)[:, t]))
    expected = np.concatenate([np.stack(ys, 1).ravel(), now.ravel()])
    return Work((step,), (Output("dst", out, expected, tolerance(out)),))


def _gated_delta(rng: np.random.Generator, size: Size, n: int, gates: bool, snapshots: int) -> Work:
    """One gate per head, or (`gates`) one per key channel; the last states follow the output."""
    batch, tokens, heads = {"small": (1, 2, 2 if n == 32 else 1), "large": (2, 12, 6)}[size]
    key_heads = max(1, heads // 2)
    q, k = (random_tensor(rng, "f32", (batch, tokens, key_heads, n)) for _ in range(2))
    k /= np.linalg.norm(k, axis=-1, keepdims=True)
    v = random_tensor(rng, "f32", (batch, tokens, heads, n))
    width = n if gates else 1
    g = -np.abs(random_tensor(rng, "f32", (batch, tokens, heads, width)))
    beta = rng.uniform(0, 1, (batch, tokens, heads)).astype(np.float32)
    state = random_tensor(rng, "f32", (batch, heads, n, n))
    out = poisoned(v.size + snapshots * state.size)
    groups = n // 32
    given = fields(
        q, k, v, v, ns02=key_heads * n, ns12=key_heads * n, ns22=heads * n, nb_out=0,
    )  # fmt: skip
    step = launch(
        "gated_delta_net",
        f"kernel_gated_delta_net_f32_{groups}",
        (given, q, k, v, g, beta, state, out, out),
        (n // groups, heads, batch),
        (32, groups, 1),
        constants={DELTA_SIZE: n, DELTA_GATES: width, DELTA_SNAPSHOTS: snapshots},
    )
    shared = np.arange(heads) % key_heads
    now, ys, history = values(state), [], []
    for t in range(tokens):
        key, query = values(k)[:, t, shared], values(q)[:, t, shared]
        now = now * np.exp(values(g)[:, t])[:, :, None, :]
        change = (values(v)[:, t] - np.einsum("bhij,bhj->bhi", now, key)) * values(beta)[:, t, :, None]
        now = now + change[..., None] * key[:, :, None, :]
        ys.append(np.einsum("bhij,bhj->bhi", now, query) / np.sqrt(n))
        history.append(now)
    kept = [history[-1 - s] for s in range(snapshots)]
    expected = np.concatenate([np.stack(ys, 1).ravel(), np.stack(kept).ravel()])
    return Work((step,), (Output("dst", out, expected, tolerance(out)),))


def cases() -> list[Case]:
    made = []
    for batched in (False, True):
        for wide in (False, True):
            name = f"ssm_conv{' batched' if batched else ''}{' x4' if wide else ''}"
            make = partial(_ssm_conv, batched=batched, wide=wide, silu=wide)
            made.append(Case("ggml", "ssm", name, make))
    made += [
        Case("ggml", "ssm", "ssm_scan 16 states", partial(_ssm_scan, states=16, snapshots=1)),
        Case("ggml", "ssm", "ssm_scan 64 states", partial(_ssm_scan, states=64, snapshots=2)),
        Case("ggml", "rwkv", "wkv6", _wkv6),
        Case("ggml", "rwkv", "wkv7", _wkv7),
        Case("ggml", "gated_delta", "32", partial(_gated_delta, n=32, gates=False, snapshots=1)),
        Case(
            "ggml",
            "gated_delta",
            "64, gate per channel",
            partial(_gated_delta, n=64, gates=True, snapshots=1),
        ),
        Case(
            "ggml", "gated_delta", "128, 2 snapshots", partial(_gated_delta, n=128, gates=False, snapshots=2)
        ),
    ]
    return made
