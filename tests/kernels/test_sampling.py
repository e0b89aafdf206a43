"""Choosing tokens: the right ones are kept, and they come as often as they should."""

import numpy as np
import pytest

import metalloid as mt
import metalloid.kernels as mk
from metalloid.errors import LaunchError

from .helpers import ODD, normal, same_on_oracle


@pytest.mark.parametrize("n", ODD)
def test_the_k_largest_in_order(n):
    x = np.round(normal((3, n), seed=n), 1)  # with equals
    for k in {1, min(5, n), n if n < 64 else 17}:
        values, places = mk.top_k(x, k)
        wanted = np.argsort(-x, axis=-1, kind="stable")[:, :k]
        assert np.array_equal(places, wanted)
        assert np.array_equal(values, np.take_along_axis(x, wanted, -1))


def test_top_k_with_infinities_and_one_axis():
    x = np.array([-np.inf, 3, -np.inf, np.inf, -0.0, 0.0], np.float32)
    assert mk.top_k(x, 6)[1].tolist() == [3, 1, 5, 4, 0, 2]  # 0 comes before -0
    assert mk.top_k(x, 0)[1].shape == (0,)
    assert mk.top_k(np.zeros((0, 4), np.float32), 2)[1].shape == (0, 2)
    with pytest.raises(LaunchError, match=r"k from 0 to 6.*got 7"):
        mk.top_k(x, 7)


@pytest.mark.parametrize("n", ODD)
def test_greedy_takes_the_first_of_the_largest(n):
    x = np.round(normal((4, n), seed=n), 1)
    assert np.array_equal(mk.sample(x, temperature=0), np.argmax(x, -1))
    assert np.array_equal(mk.sample(x, temperature=1, top_k=1, seed=3) >= 0, [True] * 4)


def kept(logits: np.ndarray, temperature: float, top_k: int, top_p: float) -> np.ndarray:
    """The probabilities that are left, in float64."""
    p = np.exp((logits - logits.max()).astype(np.float64) / temperature)
    if top_k:
        p[logits < np.sort(logits)[-min(top_k, len(p))]] = 0
    p /= p.sum()
    order = np.argsort(-p, kind="stable")
    count = int(np.searchsorted(np.cumsum(p[order]), top_p - 1e-6)) + 1
    if top_p < 1:
        p[p < p[order[min(count, len(p)) - 1]]] = 0
    return p / p.sum()


CHOICES = [
    (1.0, 0, 1.0),
    (0.7, 0, 1.0),
    (1.0, 5, 1.0),
    (1.5, 0, 0.8),
    (0.8, 20, 0.9),
    (1.0, 1, 1.0),
    (2.0, 0, 0.01),
]


@pytest.mark.parametrize(("temperature", "top_k", "top_p"), CHOICES)
def test_tokens_come_as_often_as_they_should(temperature, top_k, top_p):
    n, draws = 50, 20_000
    logits = (1.5 * normal(n, seed=4)).astype(np.float32)
    wanted = kept(logits, temperature, top_k, top_p)
    rows = np.broadcast_to(logits, (draws, n))
    found = np.bincount(mk.sample(rows, temperature, top_k, top_p, seed=9), minlength=n)
    assert not found[wanted == 0].any()
    spread = np.sqrt(draws * wanted * (1 - wanted)) + 1
    assert (np.abs(found - draws * wanted) < 5 * spread).all()


def test_a_seed_repeats_and_another_does_not():
    logits = np.tile(normal(300), (64, 1))
    first = mk.sample(logits, seed=1)
    assert np.array_equal(first, mk.sample(logits, seed=1))
    assert not np.array_equal(first, mk.sample(logits, seed=2))
    assert np.array_equal(first[5:], mk.sample(logits[5:], seed=1, step=5))


def test_neighbouring_seeds_and_steps_are_independent():
    """The share of pairs that agree is what chance gives."""
    flat = np.zeros((2000, 16), np.float32)
    draws = np.stack([mk.sample(flat, seed=seed) for seed in range(4)])
    for a, b in ((draws[0], draws[1]), (draws[2], draws[3]), (draws[0, 1:], draws[0, :-1])):
        assert abs((a == b).mean() - 1 / 16) < 0.03
    assert np.abs(np.bincount(draws.ravel(), minlength=16) / draws.size - 1 / 16).max() < 0.015


@pytest.mark.parametrize("n", [1, 31, 33, 257])
def test_the_oracle_agrees(n):
    logits = normal((3, n), seed=n)
    same_on_oracle(mk.sample, logits, 0.8, 20, 0.9, 7)
    same_on_oracle(mk.sample, logits, 0.0)
    same_on_oracle(mk.top_k, logits, min(n, 4))


def test_wrong_choices_are_refused():
    logits = normal(9)
    for wrong in (
        {"temperature": -1},
        {"top_p": 0.0},
        {"top_p": 1.5},
        {"top_k": -1},
        {"temperature": float("nan")},
    ):
        with pytest.raises(LaunchError, match="temperature >= 0"):
            mk.sample(logits, **wrong)
    with pytest.raises(LaunchError, match="float64"):
        mk.sample(logits.astype(np.float64))


def test_clean_under_the_checker():
    logits = normal((2, 45))
    with mt.checked() as report:
        mk.sample(logits, 0.8, 20, 0.9, 7)
        mk.sample(logits, 0.0)
        mk.top_k(logits, 4)
    assert report.ok, report.text()
