"""Threads that end early, and barriers that not every thread comes by.

A barrier counts SIMD-groups that are still running: who has returned holds nobody up, and one lane that comes by is
enough for its SIMD-group. Nobody reads what a thread wrote on its way out.
"""

from __future__ import annotations

from tests.engine.fuzz.features.sharing import barrier
from tests.engine.fuzz.frame import MOST
from tests.engine.fuzz.writer import INTS, Place, Writer

LEAVE = ("pos.x >= {c} + 1u", "i >= N - min({c}u, N - 1)", "lane > {c} + 1u", "lid.y >= 2", "sg > 0", "t >= size - 1",
         "(lane & 3) == 2", "lid.x * 2 > S.x", "a[i] % 5 == 1", "lid.z == 1", "t == 0")  # fmt: skip


def early(w: Writer, place: Place) -> None:
    """A return, with or without barriers to come."""
    test = w.pick(LEAVE).format(c=w.choose(0, 30)) if w.choose(0, 3) else w.condition()
    w.line(place, f"if ({test}) {{ out[i * 8 + 7] = {w.integer(1)}; return; }}")


def never(w: Writer, place: Place) -> None:
    """A return that no thread takes, though nothing says so."""
    test = w.pick(("i >= N", "pos.x >= G.x", "args[0] > 100", "lid.y >= S.y", "a[i] < 0u + (args[3] & 0u)"))
    w.line(place, f"if ({test}) return;")


def uniform_return(w: Writer, place: Place) -> None:
    """All threads of a threadgroup leave, or none."""
    w.line(place, f"if ({w.uniform()}) {{ out[i * 8 + 7] = {w.integer(1)}; return; }}")


def conditional(w: Writer, place: Place) -> None:
    """An exchange that all threads of a threadgroup take, or none."""
    name = w.fresh("some")
    w.begins.append(f"threadgroup uint {name}[{MOST}];")
    with w.block(place, f"if ({w.uniform()})", meet=True) as below:
        w.line(below, f"{name}[t] = {w.integer(1)}; {barrier(w)}")
        w.line(below, f"{w.pick(INTS)} += {name}[size - 1 - t]; {barrier(w)}")


def some_lanes(w: Writer, place: Place) -> None:
    """An exchange that some lanes of every SIMD-group take: they read each other's slots only."""
    name, c = w.fresh("few"), w.choose(1, 20)
    w.begins.append(f"threadgroup uint {name}[{MOST}];")
    with w.block(place, f"if (lane < {c})") as below:
        w.line(below, f"{name}[t] = {w.integer(1)}; {barrier(w)}")
        w.line(below, f"{w.pick(INTS)} += {name}[(t + 32) % size & ~31u]; {barrier(w)}")


def some_groups(w: Writer, place: Place) -> None:
    """An exchange that whole SIMD-groups skip; no barrier follows, since they would come to it too early."""
    name, c = w.fresh("part"), w.choose(1, 2)
    w.begins.append(f"threadgroup uint {name}[{MOST}];")
    with w.block(place, f"if (sg < {c})") as below:
        w.line(below, f"{name}[t] = {w.integer(1)}; {barrier(w)}")
        w.line(below, f"{w.pick(INTS)} += {name}[min(size, {c * 32}u) - 1 - t];")
