"""Processors: what code generation asks of each. A number that is a machine's own stands here and nowhere else."""

from __future__ import annotations

from metalloid.targets.info import TargetInfo

__all__ = ["TargetInfo", "info"]

_ARM = ("aarch64", "arm64")


def info(triple: str, features: str) -> TargetInfo:
    """What is known of a processor, by LLVM's name of the machine and LLVM's list of what it can do."""
    found = frozenset(features.split(","))
    if triple.startswith(_ARM):
        from metalloid.targets.aarch64 import info as known
    else:
        from metalloid.targets.x86 import info as known
    return known(found)
