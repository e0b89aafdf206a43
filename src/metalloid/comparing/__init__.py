"""Compare a function with a reference over everything that breaks kernels, down to the smallest failing case.

    inputs -> cases -> sweep (judge each) -> shrink -> common, resemble, influence, witness -> result

The package is not called `compare`: importing `metalloid.compare` would put a module in the place of the
function `mt.compare`.
"""

from __future__ import annotations

from metalloid.comparing.case import Case
from metalloid.comparing.inputs import Input
from metalloid.comparing.plan import cases, edges
from metalloid.comparing.result import Comparison
from metalloid.comparing.run import compare

__all__ = ["Case", "Comparison", "Input", "cases", "compare", "edges"]
