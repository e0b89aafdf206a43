"""Every case there is."""

from __future__ import annotations

from conformance.results.aten import FAMILIES as ATEN
from conformance.results.case import Case
from conformance.results.ggml import FAMILIES as GGML
from conformance.results.hashcat import FAMILIES as HASHCAT
from conformance.results.mlx import FAMILIES as MLX
from conformance.results.mlx_lm import cases as mlx_lm


def all_cases() -> list[Case]:
    return [case for family in (*GGML, *MLX, mlx_lm, *ATEN, *HASHCAT) for case in family.cases()]
