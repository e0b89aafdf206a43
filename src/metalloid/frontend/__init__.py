"""MSL text in, scalar LLVM IR and a signature out.

`examine_source` finds the mistakes of a whole source and names its kernels; `compile_kernel` compiles one of
them. Each kernel becomes a module with one function, `@__mt_entry`; docs/design/frontend.md tells the way there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metalloid import lazy

if TYPE_CHECKING:
    from metalloid.frontend.kernel import Kernel
    from metalloid.frontend.lint import Linted, lint_source, lint_while_typing
    from metalloid.frontend.stored import compile_kernel
    from metalloid.frontend.translate import find_kernels, rewritten_text
    from metalloid.frontend.whole import Examined, examine_source

__all__ = [
    "Examined",
    "Kernel",
    "Linted",
    "compile_kernel",
    "examine_source",
    "find_kernels",
    "lint_source",
    "lint_while_typing",
    "rewritten_text",
]

__getattr__ = lazy.names(
    __name__,
    {
        "Examined": "metalloid.frontend.whole",
        "Kernel": "metalloid.frontend.kernel",
        "Linted": "metalloid.frontend.lint",
        "compile_kernel": "metalloid.frontend.stored",
        "examine_source": "metalloid.frontend.whole",
        "find_kernels": "metalloid.frontend.translate",
        "lint_source": "metalloid.frontend.lint",
        "lint_while_typing": "metalloid.frontend.lint",
        "rewritten_text": "metalloid.frontend.translate",
    },
)
