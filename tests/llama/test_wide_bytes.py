"""The kernels of a token where inputs are rounded to bytes, on this machine: exact for what was rounded."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from metalloid.llama import buffers, wide, wide_bytes
from metalloid.llama.config import Config
from metalloid.llama.layers import Layer, Matrix
from metalloid.runtime.recording import Recording

RNG = np.random.default_rng(5)
EPS = 1e-5
ADDED = [(37, 256), (16, 2048), (21, 2304), (35, 8448)]  # rows, columns
NORMED = [(3, 256), (301, 512), (70, 4352)]
# size, interleaved, position
HEADS = [
    (32, False, 0),
    (64, True, 127),
    (64, False, 300),
    (96, False, 200),
    (64, False, 1300),
    (160, True, 700),
]


def weights(rows: int, columns: int) -> tuple[Matrix, np.ndarray]:
    """As kernels have them, and as numbers."""
    data = RNG.integers(0, 256, (rows * columns // 32, 18), np.uint8)
    data[:, :2] = RNG.uniform(-0.1, 0.1, (len(data), 1)).astype(np.float16).view(np.uint8)
    groups = wide.regrouped(data.reshape(-1), columns)
    assert groups is not None
    q = np.concatenate([data[:, 2:] & 15, data[:, 2:] >> 4], 1).astype(np.float64) - 8
    meant = q * np.ascontiguousarray(data[:, :2]).view(np.float16).astype(np.float64)
    return Matrix(wide.FORMAT, groups, rows, columns), meant.reshape(rows, columns)


def rounded(x: np.ndarray) -> np.ndarray:
    parts = x.astype(np.float32).reshape(-1, 32)
    most = np.abs(parts).max(1, keepdims=True)
    scale = np.divide(np.float32(127), most, out=np.zeros_like(most), where=most > 0)
    q = np.rint(parts.astype(np.float64) * scale)
    return (q * (most.astype(np.float64) / 127)).reshape(-1)


def numbers(count: int) -> np.ndarray:
    x = RNG.normal(0, 1, count).astype(np.float32)
    x[:32] = 0  # a block with no largest number
    x[33] = 50
    return x


def normed(x: np.ndarray, gain: np.ndarray) -> np.ndarray:
    return rounded(x * gain) / np.sqrt((x.astype(np.float64) ** 2).mean() + EPS)


def same(one: np.ndarray, other: np.ndarray) -> None:
    assert np.abs(one - other).max() <= 2e-6 * np.abs(other).max()


@pytest.mark.parametrize(("rows", "columns"), ADDED)
def test_products_are_added(rows: int, columns: int) -> None:
    matrix, meant = weights(rows, columns)
    x, out = numbers(columns), RNG.normal(0, 1, rows).astype(np.float32)
    right = out + meant @ rounded(x)
    run = Recording()
    wide_bytes.multiply_add(run, matrix, x, out)
    run.run()
    same(out, right)


@pytest.mark.parametrize(("rows", "columns"), NORMED)
def test_products_of_normed_inputs(rows: int, columns: int) -> None:
    (matrix, meant), (other, also) = weights(rows, columns), weights(rows, columns)
    x, gain = numbers(columns), RNG.uniform(0.5, 1.5, columns).astype(np.float32)
    out, gated = (np.full(rows + 1, 7, np.float32) for _ in range(2))
    run = Recording()
    wide_bytes.project(run, matrix, x, gain, out[:rows], EPS)
    wide_bytes.gate_up(run, replace(matrix), other, x, gain, gated[:rows], EPS)
    run.run()
    one, two = meant @ normed(x, gain), also @ normed(x, gain)
    same(out[:rows], one)
    same(gated[:rows], one / (1 + np.exp(-one)) * two)
    assert out[rows] == gated[rows] == 7


def test_what_is_no_number_stays_none() -> None:
    matrix, _ = weights(4, 256)
    for value in (np.nan, np.inf):
        x, out = numbers(256), np.zeros(4, np.float32)
        x[70] = value
        run = Recording()
        wide_bytes.multiply_add(run, matrix, x, out)
        run.run()
        assert np.isnan(out).all()


def attended(config: Config, q: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    out = []
    for head, query in enumerate(q):
        own = head // (config.heads // config.kv_heads)
        score = query @ keys[own] / np.sqrt(config.head)
        weight = np.exp(score - score.max())
        out.append(values[own] @ weight / weight.sum())
    return np.concatenate(out)


@pytest.mark.parametrize(("head", "interleaved", "at"), HEADS)
def test_heads_and_attention(head: int, interleaved: bool, at: int) -> None:
    frequencies = tuple(1e4 ** (-2 * n / head) for n in range(head // 2))
    context = at // 32 * 32 + 64
    config = Config(2, 512, 4, 2, head, 256, 64, 2048, EPS, frequencies, interleaved, tied=True)
    b = buffers.buffers(config, context)
    shape = {"heads": 4, "kv_heads": 2, "head": head, "context": context, "interleaved": int(interleaved)}
    matrix, meant = weights(8 * head, 512)
    x, gain = numbers(512), RNG.uniform(0.5, 1.5, 512).astype(np.float32)
    buffers.seen(b.x)[0] = x
    keys, values = (RNG.normal(0, 1, b.keys[1].shape).astype(np.float32) for _ in range(2))
    buffers.seen(b.keys[1])[...], buffers.seen(b.values[1])[...] = keys, values
    b.place[0] = at, 1
    layer: Any = Layer(gain, *[matrix] * 4, gain, *[matrix] * 3, qkv=matrix.data)
    rows = (meant @ normed(x, gain)).reshape(8, head)
    pairs = rows.reshape(8, -1, 2) if interleaved else rows.reshape(8, 2, -1).swapaxes(1, 2)
    turn = np.exp(1j * at * np.array(frequencies)) * (pairs[..., 0] + 1j * pairs[..., 1])
    turned = np.stack([turn.real, turn.imag], -1 if interleaved else 1).reshape(8, head)
    keys[..., at], values[..., at] = turned[4:6], rows[6:]
    right = attended(config, turned[:4], keys[..., : at + 1], values[..., : at + 1])
    run = Recording()
    wide_bytes.heads(run, layer, b, 1, shape, config)
    wide_bytes.attend(run, layer, b, 1, shape, config)
    run.run()
    assert np.allclose(buffers.seen(b.mixed)[0], right, rtol=0, atol=1e-5 * np.abs(right).max())
    assert np.allclose(buffers.seen(b.keys[1]), keys, atol=1e-4)
    assert np.allclose(buffers.seen(b.values[1]), values, atol=1e-4)


def everything() -> None:
    """All of these, on the device of this process."""
    for added in ADDED:
        test_products_are_added(*added)
    for product in NORMED:
        test_products_of_normed_inputs(*product)
    for heads in HEADS:
        test_heads_and_attention(*heads)
    test_what_is_no_number_stays_none()
