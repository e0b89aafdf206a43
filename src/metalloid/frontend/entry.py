"""Write the entry: a function without parameters that feeds the kernel from intrinsics.

`uint3` and small structs would be mangled by any calling convention; intrinsics are not. The entry
also emits a variable whose type spells out the kernel's parameters, for `reflect` to read.
"""

from __future__ import annotations

from collections.abc import Iterator

from metalloid.errors import CompileError, Diagnostic
from metalloid.frontend.attributes import BUILTINS
from metalloid.frontend.declarations import Argument, Entry, whole_number
from metalloid.frontend.names import LIMIT, POINTER, SIGNATURE, THREADS
from metalloid.frontend.reflect import Described
from metalloid.frontend.unit import Unit
from metalloid.ir.intrinsics import ENTRY
from metalloid.records import dataclass
from metalloid.types import Kind

MAX_BUFFERS = 31


@dataclass(frozen=True)
class Binding:
    """How one parameter is fed."""

    argument: Argument
    kind: Kind
    index: str  # C++ that is its index; "" for a builtin
    builtin: str = ""

    def descriptor(self) -> str:
        if self.kind == "builtin":
            return f"__mt::{BUILTINS[self.builtin]}"
        condition = self.argument.attributes.get("function_constant")
        present = f", bool({condition})" if condition else ""
        return f"__mt::{'buffer' if self.kind == 'buffer' else 'local'}<({self.index}){present}>"


def bindings(unit: Unit, entry: Entry) -> tuple[Binding, ...]:
    """Indices as written; those that are not, in order through the free ones."""
    _refuse_many(unit, entry)
    taken = set(_written(unit, entry, "buffer"))
    local_taken = set(_written(unit, entry, "threadgroup"))
    found: list[Binding] = []
    for argument in entry.kernel.arguments:
        builtin = next((a for a in argument.attributes if a in BUILTINS), None)
        if builtin:
            found.append(Binding(argument, "builtin", "", builtin))
        elif not (words := _words(unit, argument)) & _MARKS:
            _refuse_plain(unit, entry, argument)
        else:
            kind: Kind = "threadgroup" if "threadgroup" in words else "buffer"
            used = local_taken if kind == "threadgroup" else taken
            index = argument.attributes.get(kind)
            if index is None:
                free = next(i for i in range(len(used) + 1) if i not in used)
                used.add(free)
                index = str(free)
            found.append(Binding(argument, kind, index))
    return tuple(found)


_MARKS = frozenset(("*", "&", "["))


def _words(unit: Unit, argument: Argument) -> frozenset[str]:
    """The words of a parameter's type, those behind a typedef or `using` included."""
    found = set(argument.words)
    if not found & _MARKS:
        for name in argument.words[:-1]:
            for span in unit.declarations.functions.get(name, ()):
                if unit.tokens[span.first].text in ("typedef", "using"):
                    found |= {token.text for token in unit.tokens[span.first : span.last]}
    return frozenset(found)


def _refuse_many(unit: Unit, entry: Entry) -> None:
    memory = [argument for argument in entry.kernel.arguments if argument.indirect]
    shared = sum("threadgroup" in argument.words for argument in memory)
    for count, what in ((len(memory) - shared, "buffers"), (shared, "threadgroup arguments")):
        if count > MAX_BUFFERS:
            message = f"'{entry.name}' has {count} {what}; Metal allows {MAX_BUFFERS}"
            _refuse(unit, entry.kernel.name_index, message, "M609", "gather small arguments into one struct")


def entry_text(entry: Entry, bound: tuple[Binding, ...]) -> str:
    descriptors = ", ".join(b.descriptor() for b in bound)
    launch = f"__mt::launch<{descriptors}>"
    declared, limit = _thread_limit(entry)
    function = f"&::{entry.expression}"  # by its full name: the user may call a kernel `step`, as Metal does
    if entry.type is not None:
        scope, parameters = entry.type
        declared += _in_scope(scope, f"using {POINTER} = void (*)({parameters});")
        function = f"static_cast<{'::'.join((*scope, POINTER))}>({function})"
    return (
        f'\n# 1 "<metalloid>"\n#pragma clang attribute pop\n{declared}\n'
        f'extern "C" [[clang::sycl_external]] void {ENTRY}() {{\n'
        f"  static __attribute__((used)) decltype({launch}::describe({function}))\n"
        f"      {SIGNATURE} = 0;\n"
        f"  static __attribute__((used)) __mt::thread_limit<({limit})>* {LIMIT} = 0;\n"
        f"  {launch}::run({function});\n}}\n"
    )


def check_indices(unit: Unit, bound: tuple[Binding, ...], described: tuple[Described, ...]) -> None:
    """Indices that only clang could work out: enumerators, constants, template parameters."""
    seen: dict[tuple[Kind, int], str] = {}
    for binding, parameter in zip(bound, described, strict=True):
        if binding.kind == "builtin" or not parameter.present:
            continue
        name = binding.argument.name
        _refuse_outside(unit, binding.argument, binding.kind, parameter.index)
        if other := seen.get((binding.kind, parameter.index)):
            _refuse_twice(unit, binding.argument, binding.kind, parameter.index, other)
        seen[binding.kind, parameter.index] = name


def _refuse_outside(unit: Unit, argument: Argument, kind: str, index: int) -> None:
    if not 0 <= index < MAX_BUFFERS:
        message = (
            f"[[{kind}({index})]] of '{argument.name}' is out of range: "
            f"Metal has indices 0 to {MAX_BUFFERS - 1}"
        )
        hint = "use a smaller index, or gather arguments into one struct" if index > 0 else "count from 0"
        _refuse(unit, argument.name_index, message, "M608", hint)


def _refuse_twice(unit: Unit, argument: Argument, kind: str, index: int, other: str) -> None:
    message = f"[[{kind}({index})]] is taken twice, by '{other}' and by '{argument.name}'"
    _refuse(unit, argument.name_index, message, "M608", "give each its own index")


def _thread_limit(entry: Entry) -> tuple[str, str]:
    """C++ that is the kernel's own limit of threads, and what must be declared for it.

    The limit may be made of template parameters, so it becomes a template with the same head.
    """
    kernel = entry.kernel
    limit = kernel.attributes.get("max_total_threads_per_threadgroup", "1024")
    if not kernel.template:
        return "", limit
    holder = f"{kernel.template} struct {THREADS} {{ static constexpr int value = ({limit}); }};"
    arguments = entry.expression[entry.expression.index("<") :]
    return _in_scope(kernel.scope, holder), "::".join((*kernel.scope, f"{THREADS} {arguments}::value"))


def _in_scope(scope: tuple[str, ...], text: str) -> str:
    return f"namespace {'::'.join(scope)} {{ {text} }}" if scope else text


def _written(unit: Unit, entry: Entry, kind: str) -> Iterator[int]:
    """Indices written with [[buffer(n)]]; refuses repeated and impossible ones."""
    seen: dict[int, str] = {}
    for argument in entry.kernel.arguments:
        text = argument.attributes.get(kind)
        index = whole_number(text) if text is not None else None
        if index is None:
            continue  # not written, or something whose value clang knows: `check_indices` looks at it
        _refuse_outside(unit, argument, kind, index)
        if index in seen and "function_constant" not in argument.attributes:
            _refuse_twice(unit, argument, kind, index, seen[index])
        seen[index] = argument.name
        yield index


def _refuse_plain(unit: Unit, entry: Entry, argument: Argument) -> None:
    unknown = ", ".join(f"[[{a}]]" for a in argument.attributes)
    if index := argument.attributes.get("buffer"):
        words = " ".join(word for word in argument.words if word not in (argument.name, "const"))
        message = f"'{argument.name}' is bound to a buffer and declared by value"
        hint = (
            f"write `constant {words}& {argument.name} [[buffer({index})]]`: a buffer is memory, not a value"
        )
    elif unknown:
        message = f"{unknown} on '{argument.name}' is not something a compute kernel can ask for"
        hint = "see docs/support.md for the builtins that are supported"
    else:
        message = (
            f"parameter '{argument.name}' of kernel '{entry.kernel.name}' "
            "says neither where it is bound nor what it is"
        )
        hint = (
            f"for a position write e.g. `uint {argument.name} [[thread_position_in_grid]]`; "
            f"for a value from the host write `constant T& {argument.name} [[buffer(n)]]`"
        )
    _refuse(unit, argument.name_index, message, "M612", hint)


def _refuse(unit: Unit, token: int, message: str, rule: str, hint: str) -> None:
    file, line, column = unit.place(token)
    length = len(unit.tokens[token].text)
    raise CompileError([Diagnostic(message, file, line, column, length, rule=rule, hint=hint)])
