"""tests/math compile functions of their own: for the target, and called over there."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from metalloid.backends.cpu import codegen
from metalloid.source import MathMode
from tests.emulated.plugin import TARGET, ask, gathered, put_back
from tests.math import scalar_jit


class Module(scalar_jit.Module):
    def into(self, name: str, out: NDArray[np.generic], *arrays: NDArray[np.generic]) -> None:
        every = [*(np.ascontiguousarray(a) for a in arrays), out]
        memory = gathered((a.ctypes.data, a.nbytes) for a in every)
        put_back(memory, ask("call", self.engine, name, memory, [a.ctypes.data for a in every], len(out))[1])


def build(kernels: list[scalar_jit.Kernel], math: MathMode) -> Module:
    ir = scalar_jit.compile_text("".join(k.text() for k in kernels), math)
    calls = frozenset(re.findall(r"call [^@\n]*@([\w.]+)\(", ir))
    module, made = codegen.optimise(scalar_jit.for_host(ir), TARGET, 2)
    return Module({k.name: k for k in kernels}, ask("load", bytes(made.emit_object(module))), calls)


scalar_jit.build = build
