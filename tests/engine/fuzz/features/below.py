"""Short programs in which only threads from one on run, and go back by numbers of the launch that are below zero.

No index of theirs wraps. But that of the first lane of a gang, from which its lanes are counted, may; and what is
proved of a launch knows those numbers.
"""

from __future__ import annotations

from tests.engine.fuzz.writer import Place, Writer

FARTHEST = 9  # what one number goes back at most: see `Arrays.strides`
POSITIONS = ("i", "t", "pos.x", "lid.x", "i * 2", "i + t", "(i & 127)")
# `x` starts from a position; `low` is a number of the launch.
SUMS = (
    "u1 = u1 * 3 + far[({x} + {low}) * 2 + 1];",
    "u1 = u1 * 3 + far[({x} + {low}) * 2 + {c}];",
    "u1 ^= far[{x} + {c} + {low}] + far[{x} + {low}];",
    "u1 += uint(hs[{x} + {low}]);",
    "out[i * 8 + 5] = raw[({x} + {low}) | 1u];",
)


def write(w: Writer) -> None:
    for _ in range(w.choose(1, 3)):
        x, low = w.pick(POSITIONS), f"((constant uint*)strides)[{2 * w.choose(0, 3)}]"
        loops, rounds = w.chance(2), w.choose(1, 4)
        with w.block(Place(), f"if ({x} >= {FARTHEST * (rounds if loops else 1)})") as within:
            if not loops:
                w.line(within, w.pick(SUMS).format(x=x, low=low, c=w.choose(0, 5)))
                continue
            at, n = w.fresh("at"), w.fresh("n")
            w.line(within, f"uint {at} = {x};")
            most = w.pick((f"{rounds}u", f"min(args[0], {rounds}u)", f"min(args[1], {rounds}u)"))
            with w.block(within, f"for (uint {n} = 0; {n} < {most}; {n}++)", loop=True) as round:
                w.line(round, f"u0 = u0 * 3 + far[{at}];")
                w.line(round, f"{at} += {low};")
