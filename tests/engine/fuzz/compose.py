"""A program from a seed: which features it has, where they stand, and the launch it is made for."""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from tests.engine.fuzz.features import (
    Feature,
    below,
    chains,
    classic,
    columns,
    counting,
    flow,
    lanes,
    leaving,
    maths,
    memory,
    messages,
    private,
    quantise,
    rings,
    rows,
    running,
    sharing,
    short,
    spaces,
    sparse,
    strides,
    vectors,
    walks,
)
from tests.engine.fuzz.frame import MOST, SHOWN, text_of
from tests.engine.fuzz.writer import Place, Writer

Triple = tuple[int, int, int]
FEATURES: dict[str, Feature] = {
    "columns": Feature(columns.write, meets=True, most=1),
    "walk": Feature(walks.write, most=2),
    "share": Feature(sharing.write, meets=True),
    "tree": Feature(sharing.tree, meets=True, most=1),
    "bins": Feature(sharing.bins, meets=True, most=1),
    "conditional": Feature(leaving.conditional, meets=True, most=2),
    "never": Feature(leaving.never),
    "uniform return": Feature(leaving.uniform_return, most=1),
    "early": Feature(leaving.early, most=2, switch="leaving"),
    "some lanes": Feature(leaving.some_lanes, meets=True, most=1, switch="leaving"),
    "some groups": Feature(leaving.some_groups, meets=True, most=1, switch="skipping"),
    "spaces": Feature(spaces.write, most=2, switch="spaces"),
    "take": Feature(lanes.take),
    "reduce": Feature(lanes.reduce),
    "fill": Feature(lanes.fill),
    "fold": Feature(lanes.folded, most=1),
    "between": Feature(memory.between, most=2),
    "chosen": Feature(memory.chosen),
    "moved": Feature(memory.moved, most=2),
    "private": Feature(private.write, most=2),
    "sort": Feature(private.sort, most=1),
    "vectors": Feature(vectors.write),
    "mixed": Feature(vectors.mixed),
    "maths": Feature(maths.write),
    "turned": Feature(maths.turned, most=1),
    "complex": Feature(maths.complex_exp, most=1),
    "halves": Feature(maths.halves, most=1),
    "math vectors": Feature(maths.vectors, most=1),
    "classic": Feature(classic.write, most=1),
    "sparse": Feature(sparse.write, most=2, switch="rows"),
    "chains": Feature(chains.write, most=2, switch="rows"),
    "strides": Feature(strides.write, switch="rows"),
    "quantise": Feature(quantise.write, most=2, switch="rows"),
    "running": Feature(running.write, most=2, switch="rows"),
    "rings": Feature(rings.write, most=2, switch="rows"),
}
ROWS = tuple(name for name, feature in FEATURES.items() if feature.switch == "rows")
LANES = ("take", "reduce", "fill", "fold")
MATHS = ("maths", "turned", "complex", "halves", "math vectors")
# Only outside of all blocks. Of every SIMD-group some lanes have to come to what `some lanes` writes.
TOP = ("columns", "classic", "some lanes", "some groups")
LEAVES = ("early", "columns", "classic")  # after these, some threads of a threadgroup may be gone
# Numbers of their own: other seeds make what they made before there were such programs.
COUNTING, BELOW, IN_ROWS, RINGS = 0xC0DE, 0xBE10, 0x2035, 0x2165
# Kinds of programs that can be left out: threads that leave before barriers, SIMD-groups that pass them by, pointers
# of two address spaces; nothing but programs about rows of memory, which else are one of twelve.
SWITCHES = {"leaving": True, "skipping": True, "spaces": False, "rows": False}


@dataclass(frozen=True)
class Case:
    """A program and its launch; everything comes from `seed`."""

    seed: int
    text: str
    grid: Triple
    group: Triple
    math: str = "safe"
    features: tuple[str, ...] = ()
    threads: int = 1  # of the machine


def case(seed: int, switches: Mapping[str, bool] | None = None, without: Collection[str] = ()) -> Case:
    """The program of a seed. `switches` turns kinds of programs on and off, `without` leaves features out."""
    r = random.Random(seed)
    on = {**SWITCHES, **(switches or {})}
    if on["rows"] or (random.Random(seed ^ IN_ROWS).randrange(12) == 0 and "rows" not in without):
        return _rows(seed, r, on["leaving"])
    if random.Random(seed ^ COUNTING).randrange(20) == 0 and "counting" not in without:
        return _counting(seed, r)
    if random.Random(seed ^ BELOW).randrange(20) == 0 and "below" not in without:
        return _below(seed, r)
    if r.randrange(60) == 0 and "messages" not in without:
        return _message(seed, r)
    if r.randrange(6) == 0 and "short" not in without:
        return _short(seed, r)
    math = r.choice(("safe", "safe", "relaxed", "fast"))
    possible = [
        name for name, f in FEATURES.items() if name not in without and (not f.switch or on[f.switch])
    ]
    if math != "safe":
        possible.remove("classic")
    chosen = r.sample(possible, r.choice((2, 2, 2, 2, 3, 3, 3, 4, 5)))
    if math != "safe" and not set(chosen) & set(MATHS):
        chosen[0] = r.choice([name for name in MATHS if name in possible] or possible)
    chosen = _affordable(chosen)
    writer = Writer(
        r, math, on["leaving"], 5 if len(chosen) > 3 else 2, row=r.choice(("i", "i", "(N - 1 - i)"))
    )
    composer = Composer(writer, dict.fromkeys(chosen, 0))
    composer.program()
    grid, group = launch(r)
    return Case(seed, text(composer.writer), grid, group, math, tuple(chosen))


def _affordable(chosen: list[str]) -> list[str]:
    """At most three features where code is long, as of SIMD-groups and functions of mathematics; of these only one."""
    maths = [name for name in chosen if name in MATHS]
    kept = [name for name in chosen if name not in maths[1:]]
    return kept[:3] if maths or set(kept) & set(LANES) else kept


def _message(seed: int, r: random.Random) -> Case:
    w = Writer(r)
    messages.write(w)
    size = r.choice((32, 8, 16))
    return Case(seed, text(w), (2 * size, 1, 1), (size, 1, 1), "safe", ("messages",), 2)


def _counting(seed: int, r: random.Random) -> Case:
    w = Writer(r)
    grid, group = launch(r)
    counting.write(w, grid[0] * grid[1] * grid[2])
    return Case(seed, text_of([], [], w.lines, ()), grid, group, "safe", ("counting",))


def _below(seed: int, r: random.Random) -> Case:
    w = Writer(r)
    below.write(w)
    grid, group = launch(r)
    return Case(seed, text(w), grid, group, "safe", ("below",))


def _short(seed: int, r: random.Random) -> Case:
    w = Writer(r)
    short.write(w)
    grid, group = launch(r)
    if grid[1:] == (1, 1):  # threadgroups of different sizes below each other
        grid = (grid[0] * r.randint(1, 6), 1, 1)
    return Case(seed, text_of([], [], w.lines, ()), grid, group, "safe", ("short",))


def _rows(seed: int, r: random.Random, leaving: bool) -> Case:
    """Two of three have nothing else, as most kernels; the others have one or two more features."""
    math = r.choice(("safe", "fast", "fast", "relaxed"))
    chosen = r.choices(ROWS, (3, 1, 2, 2, 2, 0), k=r.choice((1, 1, 2)))
    if random.Random(seed ^ RINGS).randrange(5) == 0:
        chosen[0] = "rings"
    if r.randrange(3):
        w = Writer(r, math)
        rows.bare(w, [FEATURES[name].write for name in chosen])
        shown = SHOWN if re.search(r"\bu[0-3] [+^]?= ", "\n".join(w.lines)) else ()
        grid, group = rows.launch(r)
        return Case(seed, text_of([], w.begins, w.lines, shown), grid, group, math, tuple(chosen))
    others = [n for n, f in FEATURES.items() if not f.switch and n not in ("columns", "classic")]
    names = list(dict.fromkeys((*chosen, *_affordable(r.sample(others, r.choice((1, 2)))))))
    composer = Composer(
        Writer(r, math, leaving, 2, row=r.choice(("i", "(N - 1 - i)"))), dict.fromkeys(names, 0)
    )
    composer.program()
    grid, group = launch(r)
    return Case(seed, text(composer.writer), grid, group, math, tuple(names))


def text(w: Writer) -> str:
    shown = (*classic.shown("\n".join(w.lines)), *SHOWN)
    return text_of(list(w.tops.values()), w.begins, w.lines, shown)


@dataclass
class Composer:
    """Puts features where they may stand, and control flow around them."""

    writer: Writer
    left: dict[str, int]  # features, and how often each was written
    gone: bool = False  # some threads may have returned
    closed: bool = False  # SIMD-groups are no longer in step: nobody can meet

    def program(self) -> None:
        w, place = self.writer, Place()
        if w.chance(2):
            flow.flag(w, place)
        for name in w.random.sample(list(self.left), len(self.left)):
            if w.chance(3):
                self.statement(w, place)
            if not self.left[name]:
                self.feature(name, place)
        for _ in range(w.choose(0, 2)):
            self.statement(w, place)

    def statement(self, w: Writer, place: Place) -> None:
        """Anything: a feature of the program, or control flow around more."""
        w.budget -= 1
        what = w.choose(0, 9)
        if what <= 2 or w.budget <= 0 or place.indent > 3:
            flow.assign(w, place)
        elif what == 3:
            flow.flag(w, place)
        elif what == 4:
            flow.branch(w, place, self.body)
        elif what == 5:
            flow.loop(w, place, self.body)
        elif what == 6 and w.chance(2):
            flow.switch(w, place, self.body)
        else:
            self.feature(w.pick(list(self.left)), place)

    def body(self, w: Writer, place: Place) -> None:
        for _ in range(w.choose(1, 2)):
            self.statement(w, place)

    def feature(self, name: str, place: Place) -> None:
        w, feature = self.writer, FEATURES[name]
        if (feature.meets and not self.may_meet(place)) or self.left[name] >= feature.most:
            flow.assign(w, place)
            return
        if name in MATHS and place.loop:  # unrolled, it would be the longest code by far
            flow.assign(w, place)
            return
        if name in TOP and (place.indent > 1 or (name == "some lanes" and self.gone)):
            flow.assign(w, place)
            return
        self.left[name] += 1
        before = len(w.lines)
        feature.write(w, replace(place, meet=self.may_meet(place)))
        if name in LEAVES and any(re.search(r"\breturn;", line) for line in w.lines[before:]):
            self.gone = True
        self.closed |= name == "some groups"

    def may_meet(self, place: Place) -> bool:
        return place.meet and not self.closed and (self.writer.leaving or not self.gone)


def launch(r: random.Random) -> tuple[Triple, Triple]:
    """A grid and its threadgroups: of one to three dimensions, rows shorter than lanes, whole and ragged."""
    while True:
        dims = r.choice((1, 2, 2, 2, 3))
        x = r.choice(
            (1, 2, 3, 4, 5, 7, 8, 8, 12, 16, 20, 32, 33) if dims > 1 else (7, 16, 32, 33, 48, 64, 96, 128)
        )
        y = r.choice((1, 2, 2, 3, 4, 5, 8, 16)) if dims > 1 else 1
        z = r.choice((1, 2, 3, 4)) if dims > 2 else 1
        if x * y * z <= min(MOST, 128) and y * z <= 32:
            break
    group = (x, y, z)
    counts = [1, 1, 1]
    counts[r.randrange(dims)] = r.choice((1, 1, 2, 3))
    grid = [c * g for c, g in zip(counts, group, strict=True)]
    if r.randrange(3) == 0:
        axis = r.randrange(dims)
        grid[axis] = max(1, grid[axis] - r.randint(0, group[axis] - 1))
    return (grid[0], grid[1], grid[2]), group
