"""Source and target to a program that runs: the front end, the passes, the backend, joined.

A kernel that was compiled before is found on disk at every stage (scalar IR, proofs, machine code), and then none of
the front end, the passes and LLVM is even imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metalloid import lazy

if TYPE_CHECKING:
    from metalloid.compile.interpreted import run_interpreted
    from metalloid.compile.programs import checked_program, cpu_program
    from metalloid.compile.sources import examined, scalar
    from metalloid.compile.vector import vector_code, vector_stage

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
        "checked_program": "metalloid.compile.programs",
        "cpu_program": "metalloid.compile.programs",
        "examined": "metalloid.compile.sources",
        "run_interpreted": "metalloid.compile.interpreted",
        "scalar": "metalloid.compile.sources",
        "vector_code": "metalloid.compile.vector",
        "vector_stage": "metalloid.compile.vector",
    },
)
