"""What a kernel of a binary asks for and cannot have, told at that kernel."""

from __future__ import annotations

from metalloid.errors import CompileError, Diagnostic


class Refused(Exception):
    """One sentence; `named` puts the library and the kernel in front of it."""

    def named(self, file: str, kernel: str) -> CompileError:
        return CompileError([Diagnostic(f"kernel '{kernel}': {self}", file, 0, rule="M616")])
