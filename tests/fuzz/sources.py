"""Bad MSL by the thousand, each made from a number: the same number is the same text.

A third are valid kernels (seeds/) after random damage; the rest are attacks on a compiler (attacks/) and
texts too large, at first each of them once, then at random and in the middle of a valid kernel.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

from .damage import damage
from .large import large

_HERE = Path(__file__).parent
SEEDS = {p.stem: p.read_text() for p in sorted((_HERE / "seeds").glob("*.metal"))}


@dataclass(frozen=True)
class Case:
    kind: str
    text: str


def case(number: int, secret: Path, package: Path) -> Case:
    """Source `number`. `secret` is a file it must not read; `package` is where the compiler's headers are."""
    rng = random.Random(number)
    if number % 3 == 0:
        kinds, text = damage(rng, rng.choice(tuple(SEEDS.values())), WORDS["word"])
        return Case(kinds, text)
    attacks = ATTACKS + large(rng)
    turn = number * 2 // 3
    kind, text = attacks[turn] if turn < len(attacks) else rng.choice(attacks)
    text = fill(text, rng, secret, package)
    if turn < len(attacks) or number % 2:
        return Case(kind, text)
    seed = rng.choice(tuple(SEEDS.values())).split("\n")
    at = rng.randrange(len(seed))
    return Case(f"{kind}, inside a kernel", "\n".join([*seed[:at], text, *seed[at:]]))


def kernel(body: str, top: str = "") -> str:
    return (
        f"#include <metal_stdlib>\nusing namespace metal;\n{top}\n"
        f"kernel void f(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) {{\n{body}\n}}\n"
    )


def fill(text: str, rng: random.Random, secret: Path, package: Path) -> str:
    """Put a choice for each @word."""
    up = "../" * 12 + str(secret).lstrip("/")
    files = [str(secret), up, f"../{secret.parent.name}/{secret.name}", f"{package}/{up}", f"./{up}"]
    text = text.replace("@use", kernel("x[i] = SECRET_VALUE; x[i + 1] = secret_text[i];"))
    text = (
        text.replace("@file", rng.choice(files)).replace("@secret", str(secret)).replace("@name", secret.name)
    )
    for name, words in WORDS.items():
        text = text.replace("@" + name, rng.choice(words))
    return text


def sections(name: str) -> list[tuple[str, str]]:
    """The parts of a file: `=== title`, then a text; `---` divides what is before a kernel from its body."""
    found = []
    for part in ("\n" + (_HERE / "attacks" / name).read_text()).split("\n=== ")[1:]:
        title, text = part.split("\n", 1)
        text = text.rstrip("\n")
        if text.startswith("---\n"):
            text = kernel(text.removeprefix("---\n"))
        elif "\n---\n" in text:
            top, body = text.split("\n---\n")
            text = kernel(body, top)
        found.append((title, text))
    return found


ATTACKS = [one for name in ("reads.txt", "bombs.txt", "tricks.txt", "noise.txt") for one in sections(name)]
WORDS = {title: text.split("\n") for title, text in sections("words.txt")}
