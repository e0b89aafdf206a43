"""What clang would accept and Metal does not: words, declarations of kernels, limits.

The checks on tokens give Problems: a rule, a sentence, what to do, and the token it is about. Those that need
the compiled kernel give a Diagnostic at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from metalloid.errors import Diagnostic
from metalloid.frontend.attributes import PARAMETER_ATTRIBUTES
from metalloid.frontend.declarations import Argument, Kernel, Span
from metalloid.frontend.unit import Unit
from metalloid.frontend.words import between
from metalloid.records import dataclass
from metalloid.types import Signature

MAX_THREADGROUP_BYTES = 32 << 10


@dataclass(frozen=True)
class Problem:
    rule: str
    message: str
    hint: str
    token: int


_DOUBLE = "write `float`; unsuffixed literals such as 1.0 are float already"
_HEAP = "use a fixed-size array in the kernel, or a buffer the host passes"
_EXCEPTIONS = "write an error code to a buffer, or return early"
_NO_TYPES = "use templates, or an enum and a switch"

# The word, its rule, what to say of it, what to do.
_WORDS: Mapping[str, tuple[str, str, str]] = {
    "double": ("M611", "Metal has no `double`", _DOUBLE),
    "goto": ("M613", "Metal has no `goto`", "use a loop, `break`, `continue` or an early `return`"),
    "new": ("M613", "Metal has no `new`: there is no heap on the GPU", _HEAP),
    "delete": ("M613", "Metal has no `delete`: there is no heap on the GPU", _HEAP),
    "virtual": ("M613", "Metal has no virtual functions", _NO_TYPES),
    "throw": ("M613", "Metal has no exceptions: `throw` cannot be used", _EXCEPTIONS),
    "try": ("M613", "Metal has no exceptions: `try` cannot be used", _EXCEPTIONS),
    "catch": ("M613", "Metal has no exceptions: `catch` cannot be used", _EXCEPTIONS),
    "dynamic_cast": ("M613", "Metal has no `dynamic_cast`", _NO_TYPES),
    "typeid": ("M613", "Metal has no `typeid`", _NO_TYPES),
    "thread_local": (
        "M613",
        "Metal has no `thread_local`",
        "a plain variable in a kernel is one thread's own",
    ),
    **{
        name: ("M613", f"Metal has no `{name}`: one thread cannot stop the others", _EXCEPTIONS)
        for name in ("__builtin_trap", "__builtin_debugtrap", "__builtin_verbose_trap")
    },
    "asm": ("M613", "Metal has no inline assembly", "write the operation in MSL"),
    "__asm": ("M613", "Metal has no inline assembly", "write the operation in MSL"),
    "__asm__": ("M613", "Metal has no inline assembly", "write the operation in MSL"),
}

_SPACES = frozenset(("device", "constant", "threadgroup", "thread", "threadgroup_imageblock", "object_data"))


def refused_words(unit: Unit, spans: Sequence[Span]) -> Iterator[Problem]:
    """Keywords of C++ that Metal leaves out, in the given spans."""
    tokens, places = unit.tokens, unit.words.of(_WORDS)
    for span in spans if places else ():
        for index in between(places, span.first, span.last):
            token = tokens[index]
            if token.kind != "name":
                continue
            before = tokens[index - 1].text if index else ""
            deleted_function = token.text == "delete" and before == "="
            if not deleted_function and before not in ("operator", ".", "->"):
                rule, message, hint = _WORDS[token.text]
                yield Problem(rule, message, hint, index)


def refused_kernel(kernel: Kernel) -> Iterator[Problem]:
    """A kernel's return type, and attributes and address spaces of its parameters."""
    returns = " ".join(word for word in kernel.returns if word not in ("inline", "static", "constexpr"))
    if returns and returns != "void":
        yield Problem(
            "M607",
            f"kernel '{kernel.name}' returns `{returns}`; a kernel returns void",
            f"declare it `void` and write the result to a buffer: `device {returns}* result [[buffer(n)]]`",
            kernel.name_index,
        )
    for argument in kernel.arguments:
        yield from _unknown_attributes(argument)
        yield from _missing_space(kernel, argument)


def refused_signature(signature: Signature, excerpt: str = "") -> Iterator[Diagnostic]:
    """Limits that only the compiled kernel can break."""
    used, limit = signature.threadgroup_memory, MAX_THREADGROUP_BYTES
    if used > limit:
        yield Diagnostic(
            f"kernel '{signature.name}' uses {used:,} bytes of threadgroup memory; Metal allows {limit:,}",
            signature.file,
            signature.line,
            rule="M303",
            hint="make the tile smaller, keep it as `half`, or let two phases share one array",
            excerpt=excerpt,
        )
    for parameter in signature.parameters:
        if parameter.kind == "builtin" and str(parameter.type) not in _builtin_types(parameter.builtin):
            yield Diagnostic(
                f"[[{parameter.builtin}]] cannot be declared `{parameter.type} {parameter.name}`",
                signature.file,
                parameter.line,
                rule="M612",
                hint=f"Metal gives it as {', '.join(_builtin_types(parameter.builtin))}",
                excerpt=excerpt,
            )


def _builtin_types(builtin: str) -> tuple[str, ...]:
    if "_in_grid" in builtin or builtin.startswith("grid_") or builtin.endswith(_IN_THREE_AXES):
        return "uint", "uint2", "uint3", "ushort", "ushort2", "ushort3"
    return "uint", "ushort"


_IN_THREE_AXES = ("position_in_threadgroup", "threads_per_threadgroup", "_per_grid")


def chosen_at_run_time(function: str, file: str, line: int, excerpt: str = "") -> Diagnostic:
    """A function that is only pointed at: after inlining everything, it is left."""
    return Diagnostic(
        f"'{function}' is called through a pointer that is chosen at run time, which is not supported",
        file,
        line,
        rule="M616",
        hint="choose with `if` or `switch`, or pass the function as a template argument",
        excerpt=excerpt,
    )


def recursion(function: str, file: str, line: int, excerpt: str = "") -> Diagnostic:
    """A function that calls itself, where pointers to functions are around: nobody can say who calls whom."""
    return Diagnostic(
        f"'{function}' calls itself, and a pointer to a function is around, which is not supported together",
        file,
        line,
        rule="M614",
        hint="call functions by their names, or write a loop",
        excerpt=excerpt,
    )


def _unknown_attributes(argument: Argument) -> Iterator[Problem]:
    for attribute in argument.attributes:
        if attribute in PARAMETER_ATTRIBUTES:
            continue
        from metalloid.frontend.hints import nearest

        if guess := nearest(attribute, PARAMETER_ATTRIBUTES):
            message = f"[[{attribute}]] is not an attribute of Metal"
            yield Problem("M619", message, f"did you mean [[{guess}]]?", argument.name_index)


def _missing_space(kernel: Kernel, argument: Argument) -> Iterator[Problem]:
    declarator = argument.words[-3:]  # a pointer among template arguments is none of ours
    mark = next((word for word in ("*", "&") if word in declarator), "")
    if not mark or _SPACES & set(argument.words):
        return
    what, space = ("pointer", "device") if mark == "*" else ("reference", "constant")
    words = " ".join(argument.words).replace(f" {mark}", mark)
    yield Problem(
        "M615",
        f"{what} '{argument.name}' of kernel '{kernel.name}' has no address space",
        f"write `{space} {words}`; `constant` is for small read-only data, `threadgroup` for shared memory",
        argument.name_index,
    )
