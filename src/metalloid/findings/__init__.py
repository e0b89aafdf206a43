"""What is said about a mistake: one Finding, in words for people and in fields for machines.

The checker makes them from what a run saw, the runtime from the fault that stopped one; both read alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metalloid import lazy

if TYPE_CHECKING:
    from metalloid.findings.finding import ERROR, NOTE, WARNING, Finding, Side, severity_of

__all__ = ["ERROR", "NOTE", "WARNING", "Finding", "Side", "severity_of"]

__getattr__ = lazy.names(__name__, dict.fromkeys(__all__, "metalloid.findings.finding"))
