"""aarch64. There are 32 registers of 16 bytes; that gangs fill 16 of them was never tried otherwise."""

from __future__ import annotations

from metalloid.targets.info import TargetInfo

NEON = TargetInfo("NEON", vector_bytes=16, vector_registers=16, baseline=True, flag_bytes=True)
