"""MSL text in, scalar LLVM IR and a signature out.

`find_kernels` names what a source offers; `compile_kernel` compiles one of them. Each kernel becomes a
module with one function, `@__mt_entry`; docs/design/frontend.md tells the way there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metalloid import lazy

if TYPE_CHECKING:
    from metalloid.frontend.kernel import Kernel
    from metalloid.frontend.lint import Linted, lint_source
    from metalloid.frontend.stored import compile_kernel
    from metalloid.frontend.translate import find_kernels, rewritten_text

__all__ = ["Kernel", "Linted", "compile_kernel", "find_kernels", "lint_source", "rewritten_text"]

__getattr__ = lazy.names(
    __name__,
    {
        "Kernel": "metalloid.frontend.kernel",
        "Linted": "metalloid.frontend.lint",
        "compile_kernel": "metalloid.frontend.stored",
        "find_kernels": "metalloid.frontend.translate",
        "lint_source": "metalloid.frontend.lint",
        "rewritten_text": "metalloid.frontend.translate",
    },
)
