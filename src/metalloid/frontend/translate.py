"""The front end's road: preprocess, scan, rewrite, compile, reflect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from metalloid.errors import CompileError, Diagnostic
from metalloid.frontend import clang
from metalloid.frontend.declarations import Entry
from metalloid.frontend.diagnose import Preimage, Texts, diagnose, place
from metalloid.frontend.entry import Binding, bindings, entry_text
from metalloid.frontend.examine import accesses, left_over, log_formats, threadgroup_memory
from metalloid.frontend.header import header_arguments
from metalloid.frontend.hints import Known
from metalloid.frontend.patch import ROUNDS, copy_conditionals, mend
from metalloid.frontend.preprocess import preprocess
from metalloid.frontend.reflect import DebugInfo, Described
from metalloid.frontend.refuse import refused_kernel, refused_signature, refused_words
from metalloid.frontend.rewrite import Rewritten, Unit, constant_text, reachable, refuse_unsupported, rewrite
from metalloid.frontend.scan import scan
from metalloid.frontend.slim import slim
from metalloid.frontend.spaces import resolve_spaces
from metalloid.frontend.tokens import tokenize
from metalloid.ir import Module, read, write
from metalloid.source import Constant, Source
from metalloid.types import Parameter, Signature

# Internal linkage lets a function vanish once it is inlined; else clang would optimise it twice.
PROLOGUE = (
    "#pragma clang attribute push(__attribute__((always_inline, internal_linkage)), apply_to = function)\n"
)


@dataclass(frozen=True)
class Kernel:
    """One kernel, compiled."""

    ir: str
    signature: Signature
    files: tuple[Path, ...] = ()  # what was included


@dataclass(frozen=True)
class Parsed:
    """A source ready to compile any of its kernels."""

    source: Source
    unit: Unit
    files: tuple[Path, ...]

    @property
    def entries(self) -> tuple[Entry, ...]:
        return self.unit.declarations.entries()

    @property
    def words(self) -> frozenset[str]:
        return frozenset(token.text for token in self.unit.tokens if token.kind == "name")


def parse(source: Source) -> Parsed:
    if "\0" in source.text:
        line = source.text[: source.text.index("\0")].count("\n") + 1
        raise CompileError([Diagnostic("the source contains a NUL character", source.name, line)])
    text = preprocess(source)
    tokens = tokenize(text.text)
    try:
        declarations = scan(tokens)
    except RecursionError:
        raise CompileError([Diagnostic("this source is nested too deeply", source.name, 0)]) from None
    return Parsed(source, Unit(text.text, tokens, declarations), text.files)


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
    bound = bindings(parsed.unit, entry)
    rewritten = rewrite(parsed.unit, entry, _constants(parsed, constants or {}))
    return PROLOGUE + rewritten.text + entry_text(entry, bound)


def compile_source(source: Source, name: str, constants: Mapping[str | int, Constant]) -> Kernel:
    """Scalar IR and signature of one kernel, always compiled."""
    return compile_entry(parse(source), name, constants)


def check_source(parsed: Parsed) -> tuple[Diagnostic, ...]:
    """Errors anywhere in the source, also in functions that no kernel uses."""
    rewritten = rewrite(parsed.unit, None, {})
    arguments = [
        *clang.language(parsed.source.math, rewritten.all_swizzles),
        *header_arguments(parsed.source.math, rewritten.all_swizzles),
        *("-fsyntax-only", "-"),
    ]
    result, rewritten = _run_mending(arguments, rewritten, "\n#pragma clang attribute pop\n")
    if not result.failed:
        return ()
    return diagnose(result.messages, Texts(parsed.source), Preimage(rewritten))


def compile_entry(parsed: Parsed, name: str, constants: Mapping[str | int, Constant]) -> Kernel:
    """The same for a source that is parsed already."""
    entry = choose(parsed, name)
    texts = Texts(parsed.source)
    try:
        refuse_unsupported(parsed.unit, entry)
        _refuse(parsed, entry)
        bound = bindings(parsed.unit, entry)
        values = _constants(parsed, constants)
    except CompileError as error:
        raise CompileError([_placed(d, texts, parsed.unit) for d in error.diagnostics]) from None
    rewritten = rewrite(parsed.unit, entry, values)
    ir, module, described = _compiled(parsed, rewritten, entry, bound, texts)
    generic = next((p for p in left_over(module) if "address space" in p.message), None)
    if generic and (copied := copy_conditionals(rewritten, (generic.file, generic.line))):
        ir, module, described = _compiled(parsed, copied, entry, bound, texts)
    signature = _signature(parsed, entry, bound, described, module, values)
    problems = [*left_over(module), *refused_signature(signature)]
    if problems:
        raise CompileError([replace(p, excerpt=texts.line(p.file, p.line)) for p in problems])
    return Kernel(ir, signature, parsed.files)


def _compiled(
    parsed: Parsed, rewritten: Rewritten, entry: Entry, bound: tuple[Binding, ...], texts: Texts
) -> tuple[str, Module, tuple[Described, ...]]:
    """IR as text and as a model, and the parameters it was compiled with."""
    raw = _compile(parsed.source, rewritten, entry, bound, texts)
    ir = slim(raw)
    module = read(ir)
    resolved = resolve_spaces(module)
    if resolved is not module:
        ir = write(resolved)
    return ir, resolved, DebugInfo(raw).parameters()


def _refuse(parsed: Parsed, entry: Entry) -> None:
    """What clang would take and Metal does not, in the parts this kernel uses."""
    unit = parsed.unit
    names = reachable(unit, entry)
    spans = [k.span for k in unit.declarations.kernels if k.name in names]
    spans += [s for name, all_ in unit.declarations.functions.items() if name in names for s in all_]
    problems = [*refused_kernel(entry.kernel), *refused_words(unit.tokens, spans)]
    if problems:
        raise CompileError(
            [
                Diagnostic(
                    p.message, *unit.place(p.token), len(unit.tokens[p.token].text), rule=p.rule, hint=p.hint
                )
                for p in problems
            ]
        )


def choose(parsed: Parsed, name: str) -> Entry:
    for entry in parsed.entries:
        if entry.name == name:
            return entry
    if name in parsed.words or not parsed.entries:
        _refuse_broken(parsed)
    names = [e.name for e in parsed.entries]
    if not names:
        hint = "a kernel is written `kernel void name(...)`"
        raise CompileError(
            [Diagnostic("there is no kernel in this source", parsed.source.name, 0, hint=hint)]
        )
    import difflib

    near = difflib.get_close_matches(name, names, 3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(names[:8])}"
    raise CompileError(
        [Diagnostic(f"there is no kernel '{name}' in this source", parsed.source.name, 0, hint=hint)]
    )


def _refuse_broken(parsed: Parsed) -> None:
    """A kernel that is written but cannot be found may hide behind a syntax error: show that one."""
    rewritten = rewrite(parsed.unit, None, {})
    arguments = [
        *clang.language(parsed.source.math, rewritten.all_swizzles),
        *header_arguments(parsed.source.math, rewritten.all_swizzles),
        *("-fsyntax-only", "-"),
    ]
    epilogue = '\n# 1 "<metalloid>"\n#pragma clang attribute pop\n'
    result = clang.run(arguments, PROLOGUE + rewritten.text + epilogue)
    if result.failed:
        raise CompileError(diagnose(result.messages, Texts(parsed.source), Preimage(rewritten)))


def _constants(parsed: Parsed, given: Mapping[str | int, Constant]) -> dict[str, str]:
    """Values of function constants by name, as C++; given by name or by index."""
    values: dict[str, str] = {}
    known = parsed.unit.declarations.constants
    for key, value in given.items():
        match = [c for c in known if c.name == key or c.index == str(key)]
        if not match:
            names = ", ".join(f"{c.name} ({c.index})" for c in known) or "none"
            message = f"there is no function constant {key!r}; the source declares {names}"
            raise CompileError([Diagnostic(message, parsed.source.name, 0)])
        values[match[0].name] = constant_text(match[0].name, match[0].type, value)
    return values


def _compile(
    source: Source, rewritten: Rewritten, entry: Entry, bound: tuple[Binding, ...], texts: Texts
) -> str:
    arguments = [
        *clang.language(source.math, rewritten.all_swizzles),
        *clang.OPTIMISE,
        *header_arguments(source.math, rewritten.all_swizzles),
        *("-o", "-", "-"),
    ]
    result, rewritten = _run_mending(arguments, rewritten, entry_text(entry, bound))
    if result.failed:
        known = tuple(Known(b.argument.name, " ".join(b.argument.words[:-1]), b.builtin) for b in bound)
        raise CompileError(diagnose(result.messages, texts, Preimage(rewritten), known))
    return result.output


def _run_mending(arguments: list[str], rewritten: Rewritten, epilogue: str) -> tuple[clang.Result, Rewritten]:
    """Compile; where clang refuses what Metal allows, mend it and compile again."""
    result = clang.run(arguments, PROLOGUE + rewritten.text + epilogue)
    for _ in range(ROUNDS):
        mended = mend(result.messages, rewritten, PROLOGUE.count("\n")) if result.failed else None
        if mended is None:
            break
        rewritten = mended
        result = clang.run(arguments, PROLOGUE + rewritten.text + epilogue)
    return result, rewritten


def _signature(
    parsed: Parsed,
    entry: Entry,
    bound: tuple[Binding, ...],
    described: tuple[Described, ...],
    module: Module,
    values: Mapping[str, str],
) -> Signature:
    used = accesses(module.function["__mt_entry"])
    parameters = []
    for binding, seen in zip(bound, described, strict=True):
        parameters.append(
            Parameter(
                name=binding.argument.name,
                kind=binding.kind,  # type: ignore[arg-type]
                index=seen.index,
                type=seen.type,
                space=seen.space,
                access=used.get((binding.kind, seen.index), "none"),
                const=seen.const or seen.space == "constant",
                reference=seen.reference,
                builtin=binding.builtin,
                present=seen.present,
                line=parsed.unit.place(binding.argument.name_index)[1],
            )
        )
    threads = entry.kernel.attributes.get("max_total_threads_per_threadgroup", "1024")
    file, line, _ = parsed.unit.place(entry.kernel.name_index)
    return Signature(
        name=entry.name,
        parameters=tuple(parameters),
        max_total_threads=int(threads, 0) if threads.isdigit() else 1024,
        threadgroup_memory=threadgroup_memory(module),
        logs=log_formats(module),
        file=file,
        line=line,
        undefined_constants=_undefined(parsed, entry, values),
    )


def _undefined(parsed: Parsed, entry: Entry, values: Mapping[str, str]) -> tuple[str, ...]:
    """Function constants the kernel uses without a value and without asking whether it has one."""
    names = reachable(parsed.unit, entry)
    tokens = parsed.unit.tokens
    asked = {
        tokens[i + 2].text for i, t in enumerate(tokens[:-2]) if t.text == "is_function_constant_defined"
    }
    return tuple(
        c.name
        for c in parsed.unit.declarations.constants
        if c.name in names and c.name not in values and c.name not in asked
    )


def _placed(diagnostic: Diagnostic, texts: Texts, unit: Unit) -> Diagnostic:
    identity = Rewritten(unit.text, unit.text, (), False)
    return place(diagnostic, texts, Preimage(identity)) if diagnostic.line else replace(diagnostic)
