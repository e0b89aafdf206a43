"""Source and target to a program that runs: the front end, the passes, the backend, joined.

A kernel that was compiled before is found on disk at every stage (scalar IR, proofs, machine code), and then none of
the front end, the passes and LLVM is even imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metalloid import lazy

if TYPE_CHECKING:
    from metalloid.backends.cpu.build import checked_program, cpu_program
    from metalloid.backends.cpu.pipeline import vector_code, vector_stage
    from metalloid.backends.slow_way import run_interpreted
    from metalloid.compile.sources import examined, scalar

__all__ = [
    "checked_program",
    "cpu_program",
    "examined",
    "run_interpreted",
    "scalar",
    "vector_code",
    "vector_stage",
]

__getattr__ = lazy.names(
    __name__,
    {
        "checked_program": "metalloid.backends.cpu.build",
        "cpu_program": "metalloid.backends.cpu.build",
        "examined": "metalloid.compile.sources",
        "run_interpreted": "metalloid.backends.slow_way",
        "scalar": "metalloid.compile.sources",
        "vector_code": "metalloid.backends.cpu.pipeline",
        "vector_stage": "metalloid.backends.cpu.pipeline",
    },
)
