"""How a threadgroup goes through the rows of a flat index: rows that are alike in a loop of their own.

A part of the threadgroup ends where a row of any pair does. Of the innermost pair, whole rows follow each other up to
where a row of another one ends: they are a batch, whose rows have the same gangs (`row_passes.py`). A plane, a
row's own row, ends as many threads later as its rows have: lanes divide nothing. What a row leaves may be divided
again: such a pair starts anew with each batch.
"""

from __future__ import annotations

from metalloid.analysis.uniformity import Uniformity
from metalloid.backends.cpu.lower.emitter import Emitter
from metalloid.backends.cpu.lower.instructions import instruction
from metalloid.backends.cpu.lower.output import Output
from metalloid.backends.cpu.lower.row_passes import Call, Pass, write
from metalloid.backends.cpu.lower.text import ENDS
from metalloid.ir.values import Value
from metalloid.records import dataclass, replace
from metalloid.transforms.given_rows import Pair, early, innermost, late, needed, parents

_MOST_NUMBER = {"i32": (1 << 31) - 1, "i64": (1 << 63) - 1}  # of signed numbers as well
_THREADS = _MOST_NUMBER["i32"]  # a larger number of them is as good as this one


@dataclass(frozen=True)
class _Row:
    """The first thread's row of one pair, the thread behind its end, and how many threads a row has."""

    type: str
    row: str
    end: str
    threads: str


def given(arguments: str) -> str:
    return arguments.replace("noalias ", "")


def threadgroup(
    out: Output,
    known: Uniformity,
    pairs: tuple[Pair, ...],
    least: int,
    passes: tuple[Pass, ...],
    arguments: str,
) -> str:
    """Row after row: how far the threads are in it, its gangs, and on to the next."""
    e = Emitter(out, known.flow.function, known.roots, known)
    for i in needed(known.flow, early(known.flow, pairs)):
        e.block = e.function.home[i.name]
        instruction(e, i)
    first = _first_rows(e, pairs, least)
    inner = innermost(known.flow, pairs)
    _batches(e, pairs, first, inner, passes, _call(arguments, pairs, inner))
    lines = [
        f"define internal i32 @segment0({arguments}) alwaysinline nounwind {{",
        "start:",
        "  %at = add i32 0, 0",
        f"  %first = mul i32 %j, {out.lanes.row}",
        *e.allocas,
        *e.prologue,
        "  br label %rows",
        "rows:",
        *e.lines,
        "odd:",
        f"  %other = call i32 @segment0.odd({given(arguments)})",
        "  ret i32 %other",
        *ENDS,
    ]
    return "\n".join(lines)


def _first_rows(e: Emitter, pairs: tuple[Pair, ...], least: int) -> dict[int, _Row]:
    """The rows of the first thread, as far as they are known by themselves; a branch to %odd where there are none."""
    of, after = parents(e.function, pairs), late(e.u.flow, pairs)
    fit = "true"
    for n, (number, by) in enumerate(pairs):
        type, divisor = str(number.type), e.scalar(by)
        long = e.put(f"icmp sge {type} {divisor}, {least if of[n] is None else 1}")  # rows of rows are longer
        fit = e.put(f"and i1 {fit}, {long}")
        if of[n] is None and n not in after:
            fit = e.put(f"and i1 {fit}, {_fits(e, str(e.get(number).base), type)}")
    e.do(f"br i1 {fit}, label %first.row, label %odd, !prof !1")
    e.label("first.row")
    rows: dict[int, _Row] = {}
    for n, (number, by) in enumerate(pairs):
        parent = of[n]
        if n not in after:
            rows[n] = _row(e, number, by, "0") if parent is None else _above(e, rows[parent], e.scalar(by))
    return rows


def _late_rows(e: Emitter, pairs: tuple[Pair, ...], rows: dict[int, _Row]) -> dict[int, _Row]:
    """Those that are known once others are, of the thread at %batch.at."""
    of, after, found = parents(e.function, pairs), late(e.u.flow, pairs), dict(rows)
    for n in sorted(after):
        number, by = pairs[n]
        for i in needed(e.u.flow, (number,)):
            if i.name not in e.values:
                e.block = e.function.home[i.name]
                instruction(e, i)
        parent = of[n]
        made = _row(e, number, by, "%batch.at") if parent is None else _above(e, found[parent], e.scalar(by))
        e.do(f"%row.{n} = add {made.type} {made.row}, 0")
        e.do(f"%end.{n} = add i32 {made.end}, 0")
        found[n] = replace(made, row=f"%row.{n}", end=f"%end.{n}")
    return found


def _fits(e: Emitter, number: str, type: str) -> str:
    """Whether a number is neither negative nor goes round."""
    count = "%count" if type == "i32" else e.put("zext i32 %count to i64")
    room = e.put(f"sub {type} {_MOST_NUMBER[type]}, {count}")
    return e.put(f"icmp ule {type} {number}, {room}")


def _row(e: Emitter, number: Value, by: Value, at: str) -> _Row:
    """The row of the thread `at`, of a number that counts up from thread to thread."""
    type, divisor = str(number.type), e.scalar(by)
    wide = e.put(f"zext i32 {at} to i64") if type == "i64" else at
    here = e.put(f"add {type} {e.get(number).base}, {wide}")
    row, left = _divided(e, here, divisor, type)
    end = e.put(f"add i32 {at}, {_threads(e, left, type)}")
    return _Row(type, row, end, _threads(e, divisor, type))


def _above(e: Emitter, rows: _Row, by: str) -> _Row:
    """A row of rows: those after the first are whole."""
    row, left = _divided(e, rows.row, by, rows.type)
    others = e.put(f"sub i32 {_threads(e, left, rows.type)}, 1")
    end = e.put(f"add i64 {_product(e, others, rows.threads)}, {e.put(f'zext i32 {rows.end} to i64')}")
    each = _product(e, _threads(e, by, rows.type), rows.threads)
    return _Row(rows.type, row, _threads(e, end, "i64"), _threads(e, each, "i64"))


def _product(e: Emitter, a: str, b: str) -> str:
    return e.put(f"mul i64 {e.put(f'zext i32 {a} to i64')}, {e.put(f'zext i32 {b} to i64')}")


def _divided(e: Emitter, number: str, by: str, type: str) -> tuple[str, str]:
    """A quotient, and how far it is to the next."""
    row = e.put(f"udiv {type} {number}, {by}")
    end = e.put(f"mul {type} {e.put(f'add {type} {row}, 1')}, {by}")
    return row, e.put(f"sub {type} {end}, {number}")


def _threads(e: Emitter, number: str, type: str) -> str:
    """A number of threads; a very large one is as good as any."""
    if type == "i32":
        return number
    large = e.put(f"icmp ugt i64 {number}, {_THREADS}")
    return e.put(f"trunc i64 {e.put(f'select i1 {large}, i64 {_THREADS}, i64 {number}')} to i32")


def _batches(
    e: Emitter,
    pairs: tuple[Pair, ...],
    first: dict[int, _Row],
    inner: int,
    passes: tuple[Pass, ...],
    call: Call,
) -> None:
    """The loop over batches: a row that has begun, all that are whole, and what is left of the last."""
    e.do("br label %batch")
    e.label("batch")
    e.do("%batch.at = phi i32 [ 0, %first.row ], [ %batch.end, %batch.next ]")
    for n, row in first.items():
        e.do(f"%row.{n} = phi {row.type} [ {row.row}, %first.row ], [ %row.{n}.next, %batch.next ]")
        e.do(f"%end.{n} = phi i32 [ {row.end}, %first.row ], [ %end.{n}.next, %batch.next ]")
    now = {n: replace(row, row=f"%row.{n}", end=f"%end.{n}") for n, row in first.items()}
    now = _late_rows(e, pairs, now)
    limit = "%count"
    for n in range(len(pairs)):
        limit = limit if n == inner else _less(e, f"%end.{n}", limit)
    type, threads = now[inner].type, now[inner].threads
    e.do(f"%length = sub i32 {_less(e, f'%end.{inner}', limit)}, %batch.at")
    e.do(f"%whole = icmp eq i32 %length, {threads}")
    many = e.put(f"udiv i32 {e.put(f'sub i32 {limit}, %batch.at')}, {threads}")
    e.do(f"%batch.rows = select i1 %whole, i32 {many}, i32 1")
    e.do(f"%batch.end = add i32 %batch.at, {e.put('mul i32 %batch.rows, %length')}")
    write(e, passes, f"%row.{inner}", type, call)
    e.label("batch.next")
    for n, row in first.items():
        over = e.put(f"icmp eq i32 %end.{n}, %batch.end")
        over = e.put(f"or i1 {over}, %whole") if n == inner else over
        ended = e.put(f"select i1 {over}, i32 {'%batch.rows' if n == inner else 1}, i32 0")
        wide = e.put(f"zext i32 {ended} to i64") if row.type == "i64" else ended
        e.do(f"%row.{n}.next = add {row.type} %row.{n}, {wide}")
        end = e.put(f"add i32 %batch.end, {row.threads}")
        e.do(f"%end.{n}.next = select i1 {over}, i32 {end}, i32 %end.{n}")
    e.do(f"br i1 {e.put('icmp ult i32 %batch.end, %count')}, label %batch, label %done")


def _less(e: Emitter, a: str, b: str) -> str:
    return e.put(f"select i1 {e.put(f'icmp ult i32 {a}, {b}')}, i32 {a}, i32 {b}")


def _call(arguments: str, pairs: tuple[Pair, ...], inner: int) -> Call:
    def call(at: str, lanes: str, row: str) -> str:
        told = (f"{number.type} {row if n == inner else f'%row.{n}'}" for n, (number, _) in enumerate(pairs))
        return ", ".join((given(arguments).replace("i32 %j,", f"i32 %j, i32 {at},"), f"i32 {lanes}", *told))

    return call
