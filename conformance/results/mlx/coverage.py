"""Which of MLX's kernel templates the cases launch."""

from __future__ import annotations

import re

from conformance.instantiations import NAX
from conformance.mlx_headers import templates
from conformance.results.case import Case, Step
from conformance.results.judge import made


def wanted() -> set[str]:
    """Every template that compiles, as `header: name`, less those for Metal 4: `nax` launches a part of them."""
    apart = {f"{header}: {name}" for header, _, rows in NAX for name in rows}
    return {re.sub(r"^reduction/reduce_\w+\.h", "reduce.h", t) for t in templates()} - apart


def missing(cases: list[Case]) -> set[str]:
    """Templates that no case launches."""
    names = wanted()
    steps = {(step.source.name, step.kernel): step for case in cases for step in made(case, "small").steps}
    return names - {template_of(step, names) for step in steps.values()}


def template_of(step: Step, names: set[str]) -> str:
    """The template of the step's header whose name its kernel's name begins with."""
    header = f"{step.source.name}: "
    own = (name for name in names if name.startswith(header))
    fitting = [name for name in own if f"{step.kernel}_".startswith(f"{name.removeprefix(header)}_")]
    return max(fitting, key=len, default="")
