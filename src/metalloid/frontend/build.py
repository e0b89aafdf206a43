"""Give a rewritten source to clang, and its complaints back to the user.

Where clang refuses what Metal allows, the source is mended and given again.
"""

from __future__ import annotations

from collections.abc import Sequence

from metalloid.errors import CompileError, Diagnostic
from metalloid.frontend import clang, included, known_mends
from metalloid.frontend.declarations import Entry
from metalloid.frontend.diagnose import Preimage, Texts, Wanted, diagnose
from metalloid.frontend.entry import Binding, entry_text
from metalloid.frontend.header import forget_header, header_arguments
from metalloid.frontend.parse import Parsed
from metalloid.frontend.rewrite import rewrite
from metalloid.frontend.rewritten import Edit, Rewritten
from metalloid.ir.intrinsics import SIMD_OPERATIONS
from metalloid.patterns import pattern
from metalloid.records import replace
from metalloid.source import Source

# Internal linkage lets a function vanish once it is inlined; else clang would optimise it twice.
PROLOGUE = (
    "#pragma clang attribute push(__attribute__((always_inline, internal_linkage)), apply_to = function)\n"
)
_ROUNDS = 8  # clang stops at 20 errors; nobody has more than a few of these
_NO_ENTRY = '\n# 1 "<metalloid>"\n#pragma clang attribute pop\n'
_LOOK = ("-fsyntax-only", "-")
_MAKE = (*clang.OPTIMISE, "-o", "-", "-")
_NO_PEELING = ("-mllvm", "-unroll-allow-peeling=false")
# Uses of what a source includes, precompiled; other flags may be about that text, too.
_SHORT = (_LOOK, _MAKE, (*_NO_PEELING, *_MAKE))
_AT_RUN_TIME = "@llvm.global_ctors"  # a variable made of function constants, whose values come behind it
# A round of a loop that stands before it, with an operation that lanes of a SIMD-group do together: those that go round
# once more would be alone (reunite.py).
_PEELED = pattern(rf"%[\w.]+\.peel[\w.]* = .*call [^@]*@{SIMD_OPERATIONS}")


def whole_text(rewritten: Rewritten, wanted: Wanted, bound: tuple[Binding, ...]) -> str:
    """All that clang gets, but for the header."""
    return PROLOGUE + rewritten.text + entry_text(wanted.entry, bound)


def build(
    parsed: Parsed, rewritten: Rewritten, wanted: Wanted, bound: tuple[Binding, ...], checked: bool = False
) -> tuple[str, Rewritten]:
    """Optimised IR of one kernel, as clang writes it, and the text it is of; `checked` keeps every access of the
    user's."""
    tests = _tests(parsed.unit.text) if checked else ()
    action = (*(clang.CHECKED if checked else clang.OPTIMISE), *tests, "-o", "-", "-")
    epilogue = entry_text(wanted.entry, bound)
    result, given = _run(parsed.source, _checked(rewritten, True) if checked else rewritten, epilogue, action)
    if not checked and not result.failed and _PEELED.search(result.output):
        result, given = _run(parsed.source, rewritten, epilogue, (*_NO_PEELING, *action))
    if checked and result.failed:  # something else than a cast, perhaps
        result, given = _run(parsed.source, _checked(rewritten, False), epilogue, action)
    rewritten = given
    if result.failed:
        from metalloid.frontend.hints import Known

        known = tuple(Known(b.argument.name, " ".join(b.argument.words[:-1]), b.builtin) for b in bound)
        texts = Texts(parsed.source)
        raise CompileError(diagnose(result.messages, texts, Preimage(rewritten), known, wanted))
    return (_told(result.output) if checked else result.output), rewritten


def _told(ir: str) -> str:
    """IR of a checked run with markers for what clang tests."""
    from metalloid.frontend import subscripts, watched

    return subscripts.told(watched.told(ir))


def _checked(rewritten: Rewritten, with_casts: bool) -> Rewritten:
    """The text of a checked run: divisions tell of zeros, casts keep their alignment."""
    from metalloid.frontend import casts, watched

    if with_casts:
        rewritten = rewritten.with_edits(Edit(at, at, put) for at, put in casts.edits(rewritten.before))
    return replace(rewritten, text=watched.divisions(rewritten.text))


def _tests(text: str) -> tuple[str, ...]:
    """What clang is to test while a checked kernel runs."""
    from metalloid.frontend import subscripts, watched

    parts = (subscripts, watched)
    return tuple(flag for part in parts if part.wanted(text) for flag in part.FLAGS)


def check_source(parsed: Parsed) -> tuple[Diagnostic, ...]:
    """Errors anywhere in the source, also in functions that no kernel uses."""
    result, rewritten = _run(parsed.source, rewrite(parsed.unit, None, {}), _NO_ENTRY, _LOOK)
    if not result.failed:
        return ()
    return diagnose(result.messages, Texts(parsed.source), Preimage(rewritten))


def warned(
    source: Source,
    texts: Sequence[Rewritten],
    entry: Entry | None,
    bound: tuple[Binding, ...],
    flags: tuple[str, ...],
) -> tuple[str, Rewritten]:
    """What clang says of the first text that compiles, with these flags on; operators are as the user wrote them."""
    epilogue = entry_text(entry, bound) if entry else _NO_ENTRY
    both = ((one.unguarded(one.guards) if one.guards else one, one) for one in texts)
    for text in dict.fromkeys(text for pair in both for text in pair):
        language = (w for w in clang.language(source.math, text.all_swizzles) if w != "-w")
        result, given = _mended(source, text, epilogue, (*language, *flags, "-fsyntax-only", "-"))
        if not result.failed:
            return result.messages, given
    return "", texts[-1]


def _run(
    source: Source, rewritten: Rewritten, epilogue: str, action: tuple[str, ...]
) -> tuple[clang.Result, Rewritten]:
    """The result, and the text it is of. What does not compile with guarded operators is told, or compiled, without."""
    language = clang.language(source.math, rewritten.all_swizzles)
    result, given = _mended(source, rewritten, epilogue, (*language, *action))
    if result.failed and rewritten.guards and not result.stopped:
        plain = rewritten.unguarded(rewritten.guards)
        result, given = _mended(source, plain, epilogue, (*language, *action))
    if not result.failed and len(given.guards) < len(rewritten.guards):
        strict = tuple(word for word in language if word != "-w")
        found, _ = _mended(source, given, epilogue, (*strict, *clang.OUT_OF_RANGE, "-fsyntax-only", "-"))
        result = found if found.failed else result
    return result, given


def _included(
    parts: included.Parted, language: Sequence[str], flags: tuple[str, ...]
) -> tuple[str, ...] | clang.Result:
    """Flags that put what is included in front of the rest, or why it cannot be. Pieces keep their lines, which clang
    names, behind empty ones."""
    lines = 0
    for piece in parts.pieces:
        text = PROLOGUE + "\n" * lines + included.standing_alone(piece) + _NO_ENTRY
        made = included.precompiled(text, language, flags)
        if isinstance(made, clang.Result):
            return made
        flags, lines = made, lines + piece.count("\n")
    return flags


def _mended(
    source: Source, rewritten: Rewritten, epilogue: str, arguments: tuple[str, ...]
) -> tuple[clang.Result, Rewritten]:
    checked, before = clang.WATCHES in arguments, PROLOGUE
    if checked:  # what only checked runs need is imported there
        from metalloid.frontend import casts, unset, watched

        before = (watched.VECTORS if watched.FLAGS[0] in arguments else "") + PROLOGUE

    def run(words: Sequence[str]) -> clang.Result:
        header = header_arguments(source.math, rewritten.all_swizzles)
        language = clang.language(source.math, rewritten.all_swizzles)
        short = rewritten.shared and tuple(words[len(language) :]) in _SHORT
        parts = included.parted(rewritten.without_values()) if short else None
        for parted in dict.fromkeys((parts, parts.together())) if parts else ():
            first = _included(parted, language, header)
            if isinstance(first, clang.Result):
                from metalloid.frontend.patch import mend

                if mend(first.messages, rewritten, 1) is not None:
                    return first
            else:
                values = "".join(f"{late.definition}\n" for late in rewritten.late)
                rest = PROLOGUE + values + included.standing_alone(parted.rest) + epilogue
                result = clang.run([*first, *words], rest, len(rewritten.text))
                if result.stopped or not (result.failed or _AT_RUN_TIME in result.output):
                    return result
                break
        return clang.run([*header, *words], before + rewritten.text + epilogue)

    def once() -> clang.Result:
        if not checked:
            return run(arguments)
        return unset.compiled(run, arguments, with_casts=casts.BEGIN in rewritten.text)

    given = rewritten
    rewritten = known_mends.mended(given)
    result = once()
    if result.failed and ".pch" in result.messages:  # metalloid was upgraded, or the cache cleaned, meanwhile
        forget_header()
        result = once()
    if result.failed and rewritten is not given:  # what is told is told of the text as it was
        rewritten = given
        result = once()
    for _ in range(_ROUNDS):
        if not result.failed:
            break
        from metalloid.frontend.patch import mend

        mended = mend(result.messages, rewritten, before.count("\n"))
        if mended is None:
            break
        rewritten = mended
        result = once()
    if not result.failed:
        known_mends.remember(given, rewritten)
    return result, rewritten
