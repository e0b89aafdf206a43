"""MSL text in, scalar LLVM IR and a signature out.

`find_kernels` names what a source offers; `compile_kernel` compiles one of them. Each kernel becomes a
module with one function, `@__mt_entry`; docs/design/frontend.md tells the way there.
"""

from __future__ import annotations

from metalloid.frontend.lint import Linted, lint_source
from metalloid.frontend.stored import compile_kernel
from metalloid.frontend.translate import Kernel, find_kernels, rewritten_text

__all__ = ["Kernel", "Linted", "compile_kernel", "find_kernels", "lint_source", "rewritten_text"]
