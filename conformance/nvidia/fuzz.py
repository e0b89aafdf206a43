"""Generated programs (tests/engine/fuzz) with what the oracle leaves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tests.engine.fuzz.compose import case
from tests.engine.fuzz.frame import NUMBERS, REAL
from tests.engine.fuzz.run import Refused, arrays, compiled, copied, expected

from conformance.nvidia.replay import Replay
from metalloid.errors import MetalloidError


def replays(seeds: Iterable[int], spaces: bool = False) -> Iterator[Replay]:
    """Those of the seeds that say something, without programs for several threads of a CPU."""
    for seed in seeds:
        made = case(seed, {"spaces": spaces})
        if made.threads > 1:
            continue
        try:
            ir, signature = compiled(made)
            right = expected(made, ir)
        except (Refused, MetalloidError):
            continue
        bound = copied(arrays(made))
        near = frozenset(NUMBERS[n] for n in right if n in REAL and made.math != "safe")
        yield Replay(
            "fuzz",
            f"seed {seed} ({', '.join(made.features)})",
            ir,
            signature,
            made.grid,
            made.group,
            {NUMBERS[n]: a for n, a in bound.items()},
            {NUMBERS[n]: a for n, a in right.items()},
            near=near,
            halves="halves" in made.features and made.math != "safe",
        )
