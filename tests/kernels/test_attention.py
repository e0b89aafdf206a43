"""Attention against float64: sizes, heads, masks, caches."""

from __future__ import annotations

import numpy as np
import pytest

import metalloid as mt
import metalloid.kernels as mk
from tests.kernels.helpers import BFLOAT16, DTYPES, close, exact, normal, same_on_oracle


def reference(q, k, v, causal=False, scale=None):
    q, k, v = exact(q), exact(k), exact(v)
    shared = q.shape[-3] // k.shape[-3]
    k, v = k.repeat(shared, -3), v.repeat(shared, -3)
    scores = q @ k.swapaxes(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if causal:
        n, m = scores.shape[-2:]
        scores = np.where(np.arange(m) <= np.arange(n)[:, None] + m - n, scores, -np.inf)
    p = np.exp(scores - scores.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True) @ v


def some(heads, kv_heads, n, m, d, dtype=np.float32, batch=2):
    return (
        normal((batch, heads, n, d), dtype),
        normal((batch, kv_heads, m, d), dtype, 1),
        normal((batch, kv_heads, m, d), dtype, 2),
    )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_prefill_of_odd_lengths(dtype):
    for n, m in ((1, 1), (15, 17), (16, 16), (31, 33), (33, 65), (7, 257)):
        for causal in (False, True):
            q, k, v = some(3, 3, n, m, 32, dtype)
            close(mk.attention(q, k, v, causal=causal), reference(q, k, v, causal))


@pytest.mark.parametrize("dimension", [1, 31, 64, 80, 128, 256])
def test_sizes_of_heads(dimension):
    q, k, v = some(4, 2, 5, 37, dimension)
    close(mk.attention(q, k, v, causal=True, scale=0.2), reference(q, k, v, True, 0.2))


def test_grouped_queries_decode():
    for heads, kv_heads in ((1, 1), (8, 2), (6, 2), (7, 1), (32, 4)):
        q, k, v = some(heads, kv_heads, 1, 255, 32)
        close(mk.attention(q, k, v), reference(q, k, v))
        close(mk.attention(q, k, v, causal=True), reference(q, k, v))


def test_large_scores_do_not_overflow():
    q, k, v = some(2, 2, 9, 40, 32)
    close(mk.attention(q * 60, k * 60, v, causal=True), reference(q * 60, k * 60, v, True), 20)


def test_keys_of_16_bits():
    for dtype in (np.float16, BFLOAT16):
        q, k, v = some(4, 2, 3, 50, 64)
        k, v = k.astype(dtype), v.astype(dtype)
        close(mk.attention(q, k, v), reference(q, k, v))


def test_strides_and_three_axes():
    q, k, v = (normal((2, 20, 4, 32), seed=s) for s in range(3))  # batch, time, head, dimension
    q, k, v = (a.swapaxes(1, 2) for a in (q, k, v))
    close(mk.attention(q, k, v, causal=True), reference(q, k, v, True))
    close(mk.attention(q, k[:, ::2, 3:], v[:, ::2, 3:]), reference(q, k[:, ::2, 3:], v[:, ::2, 3:]))
    close(mk.attention(q[..., ::-1], k, v[:, :, ::-1]), reference(q[..., ::-1], k, v[:, :, ::-1]))
    close(mk.attention(q[0], k[0], v[0]), reference(q[0], k[0], v[0]))


def test_a_cache_grows_and_gives_what_all_at_once_gives():
    q, k, v = some(4, 2, 41, 41, 32)
    whole = mk.attention(q, k, v, causal=True)
    cache = mk.Cache(2, 2, 32, room=4)
    for start, end in ((0, 7), (7, 8), (8, 9), (9, 40), (40, 41)):
        keys, values = cache.append(k[:, :, start:end], v[:, :, start:end])
        got = mk.attention(q[:, :, start:end], keys, values, causal=True)
        close(got, exact(whole[:, :, start:end]))
    cache.truncate(9)
    assert (cache.keys == k[:, :, :9]).all()


@pytest.mark.parametrize("size", [1, 5, 16, 32])
def test_pages_give_what_rows_give(size):
    q, k, v = some(4, 2, 3, 45, 32, batch=3)
    cache = mk.PagedCache(3 * -(-45 // size) + 4, 2, size, 32)
    cache.append(9, k[0], v[0])  # pages that are given back and used again
    lengths = (45, 3, 17)
    cache.append(0, k[0, :, :5], v[0, :, :5])
    cache.free(9)
    for sequence, length in enumerate(lengths):
        start = 5 if sequence == 0 else 0
        cache.append(sequence, k[sequence, :, start:length], v[sequence, :, start:length])
    table, counts = cache.table(0, 1, 2)
    assert counts.tolist() == list(lengths)
    got = mk.paged_attention(q, cache.keys, cache.values, table, counts)
    for sequence, length in enumerate(lengths):
        close(got[sequence], reference(q[sequence], k[sequence, :, :length], v[sequence, :, :length], True))


def test_the_oracle_agrees():
    for dtype in DTYPES:
        q, k, v = some(2, 1, 3, 5, 8, dtype, batch=1)
        same_on_oracle(mk.attention, q, k, v, causal=True)
    q, k, v = some(2, 1, 1, 6, 8, batch=1)
    table = np.array([[2, 0]])
    pages = normal((3, 1, 4, 8))
    same_on_oracle(mk.paged_attention, q, pages, pages + 1, table, np.array([6]))


def test_nothing_in():
    q, k, v = some(2, 2, 3, 5, 8)
    assert mk.attention(q[:, :, :0], k, v).shape == (2, 2, 0, 8)
    assert (mk.attention(q, k[:, :, :0], v[:, :, :0]) == 0).all()
    assert mk.attention(q[:0], k[:0], v[:0]).shape == (0, 2, 3, 8)


def test_refusals():
    q, k, v = some(3, 2, 3, 5, 8)
    with pytest.raises(
        mt.LaunchError,
        match=r"\[attention\] expected keys .* divisor .*, got \(2, 3, 3, 8\) and \(2, 2, 5, 8\)",
    ):
        mk.attention(q, k, v)
    with pytest.raises(
        mt.LaunchError, match=r"\[attention\] expected values of shape \(2, 2, 5, 8\), got \(2, 2, 4, 8\)"
    ):
        mk.attention(q[:, :2], k, v[:, :, 1:])
    with pytest.raises(
        mt.LaunchError, match=r"\[paged_attention\] expected page numbers below 2, got 0 to 2"
    ):
        mk.paged_attention(q[:, :2], k, v, np.array([[0, 1], [2, 0]]), np.array([7, 6]))
    with pytest.raises(
        mt.LaunchError, match=r"\[paged_attention\] expected lengths up to 2 pages of 5 keys, got 3 to 11"
    ):
        mk.paged_attention(q[:, :2], k, v, np.array([[0, 1], [1, 0]]), np.array([3, 11]))
