"""aarch64. There are 32 registers of 16 bytes. Gangs fill 16 of them: with 32, scans in several gangs ran at half their
speed."""

from __future__ import annotations

from dataclasses import replace

from metalloid.targets.info import TargetInfo

NEON = TargetInfo(
    "NEON",
    vector_bytes=16,
    vector_registers=16,
    spare_registers=16,
    flag_bytes=True,
    saturates=True,
    limits_skip_nans=True,
    shifts_bytes=True,
)
DOTPROD = replace(
    NEON,
    name="NEON with dot products",
    byte_dots=(("ss", "llvm.aarch64.neon.sdot.v4i32.v16i8"), ("uu", "llvm.aarch64.neon.udot.v4i32.v16i8")),
)


def info(features: frozenset[str]) -> TargetInfo:
    return DOTPROD if "+dotprod" in features else NEON
