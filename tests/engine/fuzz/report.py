"""What is said of a difference: the seed, the launch, the program."""

from __future__ import annotations

from tests.engine.fuzz.run import Difference


def told(found: Difference) -> str:
    case = found.case
    return "\n".join(
        [
            f"seed {case.seed}: {found.kind}",
            f"  features: {', '.join(case.features)}",
            f"  grid {case.grid}, threadgroup {case.group}, math {case.math}",
            f"  engine: {found.setting or 'not reached'}",
            *(f"  {line}" for line in found.words.strip().splitlines()[-12:]),
            case.text,
        ]
    )
