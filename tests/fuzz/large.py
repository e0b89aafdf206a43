"""Texts that are bad because there is so much of them, and random ones."""

from __future__ import annotations

import random

_PAIRS = (("(", ")"), ("{", "}"), ("[", "]"), ("[[", "]]"), ("<", ">"), ("if (i) {", "}"), ("-(", ")"))


def large(rng: random.Random) -> list[tuple[str, str]]:
    """(what it is, text) of each"""
    n = rng.choice((200, 2_000, 20_000))
    opening, closing = rng.choice(_PAIRS)
    levels = rng.choice((8, 24, 60))
    doubling = "\n".join(f"#define A{k + 1} A{k} A{k}" for k in range(levels))
    data = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 4000)))
    return list(
        {
            "nesting": _kernel(f"x[i] = {opening * n}1{closing * n};"),
            "nesting that never closes": _kernel("x[i] = " + opening * n),
            "nested namespaces": "namespace a {" * n + "}" * n + _kernel("x[i] = 1;"),
            "nested structs": "struct a {" * n + "};" * n + _kernel("x[i] = 1;"),
            "nested lambdas": _kernel("auto g = " + "[=] { return " * 60 + "1" + "; }" * 60 + "; x[i] = 1;"),
            "a long expression": _kernel("x[i] = " + "x[i] + " * n + "1;"),
            "a long line": _kernel("x[i] = 1;" * n * 5),
            "a long name": _kernel(f"float {'a' * n * 50} = 1; x[i] = 2;"),
            "a long string": _kernel(f'constant char* s = "{"a" * n * 50}"; x[i] = s[i];'),
            "many parameters": f"kernel void f({', '.join(f'device float* p{k}' for k in range(n))}) {{}}",
            "many arguments": "template <class... T> void g(T... t) {}\n"
            + _kernel("g(" + "1, " * min(n, 2000) + "1);"),
            "many kernels": "\n".join(
                f"kernel void k{k}(device float* x) {{ x[0] = {k}; }}" for k in range(n // 20)
            ),
            "many errors": "\n".join(f"int e{k} = undeclared{k};" for k in range(n)) + _kernel("x[i] = 1;"),
            "macros that double": f"#define A0 1 +\n{doubling}\n" + _kernel(f"x[i] = A{levels} 1;"),
            "random bytes": data.decode("latin-1"),
            "random bytes, replaced": data.decode("utf-8", "replace"),
            "random bytes, escaped": data.decode("utf-8", "surrogateescape"),
            "random words": " ".join(
                rng.choice(("@word", "x", "1", "f")) for _ in range(rng.randrange(1, 300))
            ),
            "carriage returns": _kernel("x[i] = 1;").replace("\n", rng.choice(("\r", "\r\n", "\u2028"))),
            "backslashes": _kernel("x[i] = 1;" + "\\\n" * 5000),
            "a NUL": _kernel("x[i] = \0 1;"),
        }.items()
    )


def _kernel(body: str) -> str:
    return (
        f"kernel void f(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) {{\n{body}\n}}\n"
    )
