"""Random integer expressions, constants out of range among them, against arithmetic written down in Python."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.engine.both import same

BEFORE = """
template <int n> int right() { return n; }
int passed(int a) { return a; }
static int looped(int a) { int all = 0; for (int j = 0; j < 3; j++) all = j < 2 ? all : a; return all; }
template <class T> T shifted(T a, int n) { a <<= n; return a; }
template <class T> T divided(T a, T n) { a /= n; return a; }
"""
CONSTANTS = (0, 1, -1, 2, 3, 7, 31, 32, 33, 35, 64, 100, -5, -32, 2147483647, -2147483648)
WAYS = ("{c}", "({c})", "right<{c}>()", "passed({c})", "looped({c})")
X = np.array([0, 1, -1, 5, -77, 2147483647, -2147483648, 12345678, 33], np.int32)


def signed(value: int) -> int:
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def quotient(a: int, b: int) -> int:
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a: int, b: int) -> int:
    return 0 if b == 0 else a - b * quotient(a, b)


# How an operation of two ints is written in Metal, and what it is.
OPERATIONS = {
    "({a}) << ({b})": lambda a, b: a << b % 32,
    "({a}) >> ({b})": lambda a, b: a >> b % 32,
    "({a}) / ({b})": quotient,
    "({a}) % ({b})": remainder,
    "shifted({a}, {b})": lambda a, b: a << b % 32,
    "divided({a}, {b})": quotient,
    "int(uint({a}) / uint({b}))": lambda a, b: quotient(a % 2**32, b % 2**32),
    "int(uint({a}) % uint({b}))": lambda a, b: remainder(a % 2**32, b % 2**32),
    "int(uint({a}) >> uint({b}))": lambda a, b: a % 2**32 >> b % 32,
    "int2({a}, 1).x / {b}": quotient,
    "(int2({a}) % {b}).y": remainder,
    "(int3({a}) << {b}).z": lambda a, b: a << b % 32,
    "int(uint({a}) + uint({b}))": lambda a, b: a + b,
    "({a}) ^ ({b})": lambda a, b: a ^ b,
    "({b} == 0 ? 7 : ({a}) / ({b}))": lambda a, b: 7 if b == 0 else quotient(a, b),
}


class Expression:
    """Text in x[i], and its value for each x."""

    def __init__(self, rng: random.Random, depth: int) -> None:
        if depth == 0 or rng.random() < 0.15:
            if rng.random() < 0.45:
                self.text, self.values = "x[i]", [int(x) for x in X]
                return
            constant = rng.choice(CONSTANTS)
            written = f"({constant})" if constant != -2147483648 else "(-2147483647 - 1)"
            self.text, self.values = rng.choice(WAYS).format(c=written), [constant] * len(X)
            return
        form = rng.choice(list(OPERATIONS))
        a, b = Expression(rng, depth - 1), Expression(rng, depth - 1)
        self.text = f"({form.format(a=a.text, b=b.text)})"
        self.values = [signed(OPERATIONS[form](p, q)) for p, q in zip(a.values, b.values, strict=True)]


@pytest.mark.parametrize("seed", range(6))
def test_expressions_are_what_arithmetic_says(seed):
    rng = random.Random(seed)
    chosen = [Expression(rng, 1 + n % 3) for n in range(60)]
    stores = "\n".join(f"out[i * {len(chosen)} + {n}] = {e.text};" for n, e in enumerate(chosen))
    text = f"""{BEFORE}kernel void k(device int* out, device const int* x, uint i [[thread_position_in_grid]]) {{
{stores}
}}"""
    got = same(text, [np.full((len(X), len(chosen)), 0x5A5A5A5A, np.int32), X], len(X), len(X))[0]
    for number, expression in enumerate(chosen):
        np.testing.assert_array_equal(got[:, number], expression.values, err_msg=expression.text)
