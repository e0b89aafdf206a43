"""The front end's road: parse, rewrite, build, reflect."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from metalloid.errors import CompileError, Diagnostic
from metalloid.frontend.build import build, check_source, whole_text
from metalloid.frontend.columns import with_columns
from metalloid.frontend.declarations import Entry, Span
from metalloid.frontend.declarations import Kernel as Declared
from metalloid.frontend.describe import signature
from metalloid.frontend.diagnose import Preimage, Texts, Wanted, misfit, place
from metalloid.frontend.entry import Binding, bindings, check_indices
from metalloid.frontend.examine import left_over
from metalloid.frontend.function_constants import constant_text
from metalloid.frontend.kernel import Kernel, Reading
from metalloid.frontend.moved import with_places
from metalloid.frontend.parse import Parsed, parse
from metalloid.frontend.reflect import DebugInfo
from metalloid.frontend.refuse import refused_kernel, refused_signature, refused_words
from metalloid.frontend.reunite import reunited
from metalloid.frontend.rewrite import refuse_unsupported, rewrite
from metalloid.frontend.rewritten import Rewritten
from metalloid.frontend.scan import STAGES
from metalloid.frontend.slim import slim
from metalloid.frontend.space_casts import refused_casts
from metalloid.frontend.spaces import mixed, resolve_spaces
from metalloid.frontend.unit import Unit
from metalloid.frontend.unsupported import stage_function
from metalloid.frontend.variables import refused_variables
from metalloid.ir import Module, keep, read, write
from metalloid.ir.debug import location
from metalloid.ir.divisions import plain_divisions
from metalloid.ir.intrinsics import ENTRY
from metalloid.records import dataclass, replace
from metalloid.source import Constant, Source, unfit


def find_kernels(source: Source) -> tuple[Entry, ...]:
    """Every kernel that can be asked for by name, host names included."""
    parsed = parse(source)
    if not parsed.entries and "kernel" in parsed.words:
        _refuse_broken(parsed)
    return parsed.entries


def rewritten_text(source: Source, name: str, constants: Mapping[str | int, Constant] | None = None) -> str:
    """The C++ that clang gets, for people who want to see it."""
    parsed = parse(source)
    entry = choose(parsed, name)
    rewritten = rewrite(parsed.unit, entry, constant_values(parsed, constants or {}))
    return whole_text(rewritten, _wanted(parsed, entry), bindings(parsed.unit, entry))


def compile_source(
    source: Source,
    name: str,
    constants: Mapping[str | int, Constant],
    checked: bool = False,
    reading: Reading = "others declared",
) -> Kernel:
    """Scalar IR and signature of one kernel, always compiled."""
    return compile_entry(parse(source), name, constants, checked, reading)


def compile_entry(
    parsed: Parsed,
    name: str,
    constants: Mapping[str | int, Constant],
    checked: bool = False,
    reading: Reading = "others declared",
) -> Kernel:
    """The same for a source that is parsed already."""
    entry = choose(parsed, name)
    for kernel in entry.overloads:
        try:
            return _compile_kernel(parsed, entry, constants, checked, reading)
        except CompileError as error:
            if not misfit(error.diagnostics):
                raise
            entry = replace(entry, kernel=kernel)
    return _compile_kernel(parsed, entry, constants, checked, reading)


def _compile_kernel(
    parsed: Parsed, entry: Entry, constants: Mapping[str | int, Constant], checked: bool, reading: Reading
) -> Kernel:
    texts = Texts(parsed.source)
    try:
        refuse_unsupported(parsed.unit, entry)
        _refuse(parsed, entry)
        bound = bindings(parsed.unit, entry)
        values = constant_values(parsed, constants)
    except CompileError as error:
        raise CompileError([placed(d, texts, parsed.unit) for d in error.diagnostics]) from None

    def build(reading: Reading) -> _Built:
        part = None if reading == "whole" else entry
        rewritten = rewrite(parsed.unit, part, values, needed=reading == "needed")
        built = _built(parsed, rewritten, entry, bound, checked)
        if not built.mixed:
            return built
        from metalloid.frontend.patch import copy_conditionals

        if copied := copy_conditionals(rewritten, built.mixed):
            return _unmixed(built, lambda: _built(parsed, copied, entry, bound, checked))
        return built

    built = _needed_or_more(build) if reading == "needed" else build(reading)
    ir, module, info = built.ir, built.module, built.info
    left = list(left_over(module))
    try:
        check_indices(parsed.unit, bound, info.parameters())
    except CompileError as error:
        raise CompileError(placed(d, texts, parsed.unit) for d in error.diagnostics) from None
    made = signature(parsed, entry, bound, info, module, values)
    if problems := [*left, *refused_signature(made)]:
        raise CompileError(_pointed(p, texts) for p in problems)
    return Kernel(ir, made, parsed.files)


@dataclass(frozen=True)
class _Built:
    """IR as text and as a model, and the debug info that describes its parameters."""

    ir: str
    module: Module
    info: DebugInfo
    mixed: tuple[str, int] | None  # file and line of the first pointer that may be of several spaces


def _needed_or_more(build: Callable[[Reading], _Built]) -> _Built:
    """Made from what the kernel needs; from more of the text where that does not compile, which then tells why."""
    try:
        return build("needed")
    except CompileError:
        return build("others declared")


def _unmixed(built: _Built, again: Callable[[], _Built]) -> _Built:
    """With the sides of a `?:` copied, if that leaves every pointer one space: a value need not lie in memory then."""
    try:
        copied = again()
    except CompileError:
        return built
    return built if copied.mixed else copied


def _built(
    parsed: Parsed, rewritten: Rewritten, entry: Entry, bound: tuple[Binding, ...], checked: bool
) -> _Built:
    raw, given = build(parsed, rewritten, _wanted(parsed, entry), bound, checked)
    ir = slim(raw)
    written = read(ir)
    module = reunited(_with_stack(written))
    several = mixed(module)
    place = location(module, several) if several else None
    resolved = with_places(with_columns(plain_divisions(resolve_spaces(module)), given, Texts(parsed.source)))
    if resolved is not written:
        ir = write(resolved)
    keep(ir, resolved)  # the first of the passes reads it
    where = (place.file, place.line) if place else None
    return _Built(ir, resolved, DebugInfo(raw, parsed.unit), where)


def _with_stack(module: Module) -> Module:
    """Functions that call themselves, which few kernels have, inside the entry."""
    if all(f.name == ENTRY for f in module.functions if f.blocks):
        return module
    from metalloid.frontend.call_stack import with_stack

    return with_stack(module)


def _refuse(parsed: Parsed, entry: Entry) -> None:
    """What clang would take and Metal does not, in the parts this kernel uses."""
    if problems := refused_parts(parsed, (entry.kernel,), parsed.spans_of(entry)):
        raise CompileError(problems)


def refused_parts(parsed: Parsed, kernels: Sequence[Declared], spans: Sequence[Span]) -> list[Diagnostic]:
    """What clang would take and Metal does not, in these kernels' heads and these items of the source."""
    unit = parsed.unit
    problems = [
        *(problem for kernel in kernels for problem in refused_kernel(kernel)),
        *refused_words(unit, spans),
        *refused_variables(unit, spans),
        *refused_casts(unit, spans),
    ]
    return [
        Diagnostic(p.message, *unit.place(p.token), len(unit.tokens[p.token].text), rule=p.rule, hint=p.hint)
        for p in problems
    ]


def choose(parsed: Parsed, name: str) -> Entry:
    """The kernel of this name."""
    for entry in parsed.entries:
        if entry.name == name:
            return entry
    _refuse_stage(parsed, name)
    if name in parsed.words or not parsed.entries:
        _refuse_broken(parsed)
    names = [e.name for e in parsed.entries]
    if names:
        import difflib

        near = difflib.get_close_matches(name, names, 3)
        message = f"there is no kernel '{name}' in this source"
        hint = f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(names[:8])}"
    else:
        message, hint = "there is no kernel in this source", "a kernel is written `kernel void name(...)`"
    raise CompileError([Diagnostic(message, parsed.source.name, 0, hint=hint)])


def _refuse_stage(parsed: Parsed, name: str) -> None:
    unit = parsed.unit
    if stage := stage_function(unit.tokens, unit.declarations, name, STAGES):
        message = f"'{name}' is a {stage[0]} function, which is not supported; only kernels are"
        file, line, column = unit.place(stage[1])
        excerpt = Texts(parsed.source).line(file, line)
        raise CompileError([Diagnostic(message, file, line, column, len(name), rule="M616", excerpt=excerpt)])


def _refuse_broken(parsed: Parsed) -> None:
    """A kernel that is written but cannot be found may hide behind a syntax error: show that one."""
    if diagnostics := check_source(parsed):
        raise CompileError(diagnostics)


def constant_values(parsed: Parsed, given: Mapping[str | int, Constant]) -> dict[str, str]:
    """Values of function constants by name, as C++; given by name or by index."""
    values: dict[str, str] = {}
    known = parsed.unit.declarations.constants
    for key, value in given.items():
        match = [c for c in known if c.name == key or c.number == key]
        if not match:
            names = ", ".join(f"{c.name} ({c.index})" for c in known) or "none"
            message = f"there is no function constant {key!r}; the source declares {names}"
            raise CompileError([Diagnostic(message, parsed.source.name, 0)])
        if wrong := unfit(match[0].type, value):
            message = f"function constant '{match[0].name}' {wrong}"
            raise CompileError([Diagnostic(message, parsed.source.name, 0)])
        values[match[0].name] = constant_text(match[0].type, value)
    return values


def _wanted(parsed: Parsed, entry: Entry) -> Wanted:
    file, line, column = parsed.unit.place(entry.kernel.name_index)
    return Wanted(entry, file, line, column)


def placed(diagnostic: Diagnostic, texts: Texts, unit: Unit) -> Diagnostic:
    """With its excerpt, and its column in the user's line."""
    identity = Rewritten(unit.text, unit.text, (), False)
    return place(diagnostic, texts, Preimage(identity)) if diagnostic.line else diagnostic


def _pointed(diagnostic: Diagnostic, texts: Texts) -> Diagnostic:
    """With its excerpt, and the caret under the name it speaks of."""
    excerpt = texts.line(diagnostic.file, diagnostic.line)
    name = re.search(r"'(\w+)'", diagnostic.message)
    found = re.search(rf"\b{name[1]}\b", excerpt) if name and not diagnostic.column else None
    if found is None:
        return replace(diagnostic, excerpt=excerpt)
    return replace(diagnostic, excerpt=excerpt, column=found.start() + 1, length=len(found[0]))
