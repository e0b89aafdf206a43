"""Vector accesses whose lanes lie in a known pattern, and those that do not.

Lanes with the same symbolic part form a run. A run is loaded register by register: one vector over the span and a
shuffle, or one load per distinct address, or a gather of the distinct ones; it is stored neighbours at a time.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from metalloid.analysis.lane_shape import Terms
from metalloid.backends.cpu.lower import masked
from metalloid.backends.cpu.lower.access.block_licm import in_place
from metalloid.backends.cpu.lower.access.contiguous import concat, read, write
from metalloid.backends.cpu.lower.access.masked_rows import load_row, store_row
from metalloid.backends.cpu.lower.access.mem_ref import MemRef, address
from metalloid.backends.cpu.lower.emitter import Emitter, Val


@dataclass(frozen=True)
class Run:
    """Lanes whose addresses differ by constants: `offsets` from base + `key`."""

    key: tuple[tuple[str, int], ...]  # coefficient -> its multiple
    lanes: tuple[int, ...]
    offsets: tuple[int, ...]


def runs(terms: Terms, width: int) -> list[Run]:
    """Lanes by their symbolic part."""
    found: dict[tuple[tuple[str, int], ...], list[int]] = {}
    for lane in range(width):
        key = tuple((c, p[lane]) for c, p in terms if c and p[lane])
        found.setdefault(key, []).append(lane)
    plain = dict(terms).get("", (0,) * width)
    return [Run(k, tuple(v), tuple(plain[lane] for lane in v)) for k, v in found.items()]


def contiguous(terms: Terms, size: int) -> bool:
    return (
        len(terms) == 1
        and terms[0][0] == ""
        and all(b - a == size for a, b in zip(terms[0][1], terms[0][1][1:], strict=False))
    )


def maskable(place: MemRef, size: int) -> bool:
    """Whether a masked access does it, and the bounds are about the same lanes."""
    if not contiguous(place.offset.terms, size):
        return False
    return place.limit is None or place.check is place.offset or place.check.uniform


MAX_RUNS = 32


def regular(e: Emitter, val: Val, size: int) -> list[Run] | None:
    """The runs of an access, where going run by run is worth it."""
    if val.base is None or not val.terms:
        return None
    found = runs(val.terms, e.width)
    if len(found) > MAX_RUNS:
        return None
    return found


def gather(e: Emitter, ptr: str, offsets: str, mask: str | None, kind: str, align: int) -> str:
    """Each lane from its own address. Narrow elements come out of the aligned word around them where the processor
    gathers: it gathers words, and LLVM would go lane by lane. A word never crosses into another page."""
    if e.out.target.gathers and (kind == "i8" or (kind in ("i16", "half") and align >= 2)):
        return _gather_narrow(e, ptr, offsets, mask, kind)
    return masked.gather(e, _addresses(e, ptr, offsets), mask, kind, align)


def _gather_narrow(e: Emitter, ptr: str, offsets: str, mask: str | None, kind: str) -> str:
    vl, vi = e.vt("i64"), e.vt("i32")
    start = "0" if ptr == "null" else e.put(f"ptrtoint ptr {ptr} to i64")
    addresses = e.put(f"add {vl} {offsets}, {e.splat('i64', start)}")
    words = e.put(f"and {vl} {addresses}, splat (i64 -4)")
    got = gather(e, "null", words, mask, "i32", 4)
    inside = e.put(f"trunc {vl} {addresses} to {vi}")
    shift = e.put(f"shl {vi} {e.put(f'and {vi} {inside}, splat (i32 3)')}, splat (i32 3)")
    moved = e.put(f"lshr {vi} {got}, {shift}")
    narrow = "i8" if kind == "i8" else "i16"
    ref = e.put(f"trunc {vi} {moved} to {e.vt(narrow)}")
    return e.put(f"bitcast {e.vt('i16')} {ref} to {e.vt('half')}") if kind == "half" else ref


def _addresses(e: Emitter, ptr: str, offsets: str) -> str:
    if ptr == "null":
        return e.put(f"inttoptr {e.vt('i64')} {offsets} to {e.vt('ptr')}")
    return e.put(f"getelementptr i8, ptr {ptr}, {e.vt('i64')} {offsets}")


def scatter(e: Emitter, ptr: str, offsets: str, mask: str | None, kind: str, align: int, value: str) -> None:
    """Each lane to its own address, in order; narrow elements in a function of their own, for its size."""
    at = _addresses(e, ptr, offsets)
    if kind in ("i8", "i16", "half") and (mask is None or e.out.target.scatters):
        w, vk, m = e.width, e.vt(kind), mask or masked.ALL
        name = masked.declared(e, "scatter", kind, w)
        helper = f"scatter.{kind}.{align}"
        e.out.helpers.setdefault(
            helper,
            f"define internal void @{helper}({vk} %value, <{w} x ptr> %at, <{w} x i1> %mask) noinline nounwind {{\n"
            f"  call void @{name}({vk} %value, <{w} x ptr> align {align} %at, <{w} x i1> %mask)\n  ret void\n}}\n",
        )
        e.do(f"call void @{helper}({vk} {value}, <{w} x ptr> {at}, <{w} x i1> {m})")
        return
    masked.scatter(e, at, mask, kind, align, value)


def run_start(e: Emitter, val: Val, run: Run, low: int) -> str:
    """The offset of a run's lowest address."""
    assert val.base is not None
    total = val.base
    for coefficient, multiple in run.key:
        part = e.put(f"mul i64 {e.coefficient(coefficient, 'i64')}, {multiple}")
        total = e.put(f"add i64 {total}, {part}")
    return e.put(f"add i64 {total}, {low}") if low else total


def _load_chunks(e: Emitter, place: MemRef, kind: str, size: int, align: int) -> str:
    """Register by register: neighbours in one register often need less than all lanes do, and many registers
    of one vector often need the same. Narrow numbers count as four bytes, as wide as most will be when used."""
    val = place.offset
    count = min(e.width, max(1, e.out.target.vector_bytes // max(size, 4)))
    symbolic = [(c, p) for c, p in val.terms if c]
    plain = dict(val.terms).get("", (0,) * e.width)
    made: dict[tuple[object, ...], str] = {}
    chunks: list[str] = []
    for start in range(0, e.width, count):
        lanes = range(start, start + count)
        key = tuple((tuple((c, p[lane]) for c, p in symbolic if p[lane]), plain[lane]) for lane in lanes)
        if key not in made:
            found: dict[tuple[tuple[str, int], ...], list[int]] = {}
            for n, (part, _) in enumerate(key):
                found.setdefault(part, []).append(n)
            plan = [Run(k, tuple(v), tuple(key[n][1] for n in v)) for k, v in found.items()]
            from_where = in_place(e, place) if _is_plain(plan, size) else place
            made[key] = _load_chunk(e, from_where, plan, kind, size, align, count)
        chunks.append(made[key])
    return concat(e, kind, chunks, count)


def _is_plain(plan: list[Run], size: int) -> bool:
    """Whether a register is loaded as it is."""
    steps = [b - a for run in plan for a, b in itertools.pairwise(run.offsets)]
    return len(plan) == 1 and all(s == size for s in steps)


def _load_chunk(
    e: Emitter, place: MemRef, plan: list[Run], kind: str, size: int, align: int, count: int
) -> str:
    parts = [_load_run(e, place, run, kind, size, align) for run in plan]
    if all(p is not None for p in parts):
        done = [(run.lanes, p) for run, p in zip(plan, parts, strict=True) if p is not None]
        return merge(e, kind, done, count)
    total = "poison"
    for run in plan:
        for lane, offset in zip(run.lanes, run.offsets, strict=True):
            at = address(e, place.ptr, run_start(e, place.offset, run, offset))
            one = e.put(f"load {kind}, ptr {at}, align {align}")
            total = e.put(f"insertelement <{count} x {kind}> {total}, {kind} {one}, i64 {lane}")
    return total


def _load_run(
    e: Emitter, place: MemRef, run: Run, kind: str, size: int, align: int
) -> tuple[str, int, list[int]] | None:
    """A run's elements: a vector, its length, and the element for each lane of the run."""
    low = min(run.offsets)
    steps = [o - low for o in run.offsets]
    if any(s % size for s in steps):
        return None
    where_to = [s // size for s in steps]
    distinct = sorted(set(where_to))
    at = run_start(e, place.offset, run, low)
    span = distinct[-1] + 1
    if len(distinct) == 1:
        one = e.put(f"load {kind}, ptr {address(e, place.ptr, at)}, align {align}")
        return e.put(f"insertelement <1 x {kind}> poison, {kind} {one}, i64 0"), 1, [0] * len(where_to)
    if span <= 2 * len(distinct) or span <= 16 or (span <= 4 * len(distinct) and size * span <= 512):
        vector = e.put(f"load <{span} x {kind}>, ptr {address(e, place.ptr, at)}, align {align}")
        return vector, span, where_to
    pieces = _pieces(distinct)
    if len(pieces) * 4 <= len(distinct):
        return _load_pieces(e, place, at, pieces, kind, size, align, where_to)
    if len(distinct) <= 8:
        total = "poison"
        for n, element in enumerate(distinct):
            here = e.put(f"add i64 {at}, {element * size}") if element else at
            one = e.put(f"load {kind}, ptr {address(e, place.ptr, here)}, align {align}")
            total = e.put(f"insertelement <{len(distinct)} x {kind}> {total}, {kind} {one}, i64 {n}")
        return total, len(distinct), [distinct.index(x) for x in where_to]
    count = len(distinct)
    w = 1 << (count - 1).bit_length()
    offsets = [element * size for element in distinct] + [0] * (w - count)
    base = address(e, place.ptr, at)
    pointers = e.put(f"getelementptr i8, ptr {base}, <{w} x i64> {e.constants('i64', offsets)}")
    return masked.gather(e, pointers, None, kind, align, w), w, [distinct.index(x) for x in where_to]


def _pieces(elements: list[int]) -> list[list[int]]:
    """Neighbours together."""
    found: list[list[int]] = []
    for x in elements:
        if found and x == found[-1][-1] + 1:
            found[-1].append(x)
        else:
            found.append([x])
    return found


def _load_pieces(
    e: Emitter,
    place: MemRef,
    start: str,
    pieces: list[list[int]],
    kind: str,
    size: int,
    align: int,
    where_to: list[int],
) -> tuple[str, int, list[int]]:
    """One short load for each few neighbours, put side by side."""
    parts: list[Part] = []
    index: dict[int, int] = {}
    for piece in pieces:
        at = e.put(f"add i64 {start}, {piece[0] * size}") if piece[0] else start
        ref = e.put(f"load <{len(piece)} x {kind}>, ptr {address(e, place.ptr, at)}, align {align}")
        lanes = tuple(range(len(index), len(index) + len(piece)))
        index |= dict(zip(piece, lanes, strict=True))
        parts.append((lanes, (ref, len(piece), list(range(len(piece))))))
    return merge(e, kind, parts, len(index)), len(index), [index[x] for x in where_to]


Part = tuple[tuple[int, ...], tuple[str, int, list[int]]]


def merge(e: Emitter, kind: str, parts: list[Part], w: int) -> str:
    """The lanes of several short vectors as one of `w` elements."""
    ready: list[tuple[str, list[int]]] = []
    for lanes, (ref, count, picks) in parts:
        mask = ["poison"] * w
        own = [0] * w
        for lane, pick in zip(lanes, picks, strict=True):
            mask[lane] = str(pick)
            own[lane] = 1
        text = ", ".join(f"i32 {m}" for m in mask)
        wide = e.put(
            f"shufflevector <{count} x {kind}> {ref}, <{count} x {kind}> poison, <{w} x i32> <{text}>"
        )
        ready.append((wide, own))
    while len(ready) > 1:
        paired = []
        for n in range(0, len(ready) - 1, 2):
            (a, in_a), (b, in_b) = ready[n], ready[n + 1]
            sources = [str(x) if in_a[x] else (str(w + x) if in_b[x] else "poison") for x in range(w)]
            text = ", ".join(f"i32 {p}" for p in sources)
            both = e.put(f"shufflevector <{w} x {kind}> {a}, <{w} x {kind}> {b}, <{w} x i32> <{text}>")
            paired.append((both, [x | y for x, y in zip(in_a, in_b, strict=True)]))
        if len(ready) % 2:
            paired.append(ready[-1])
        ready = paired
    return ready[0][0]


def fast_load(e: Emitter, place: MemRef, plan: list[Run], kind: str, size: int, align: int) -> str:
    """All lanes at once, or under the mask where they are contiguous."""
    val = place.offset
    if contiguous(val.terms, size):
        start = run_start(e, val, plan[0], plan[0].offsets[0])
        if e.mask is None:
            return read(e, in_place(e, place), start, e.width, kind, size, align)
        return load_row(e, place, start, kind, size, align)
    return _load_chunks(e, place, kind, size, align)


def storable(plan: list[Run], size: int) -> bool:
    """Whether the lanes fall into few runs of neighbours, no two at one address."""
    pieces = 0
    for run in plan:
        order = sorted(run.offsets)
        if len(set(order)) < len(order) or any((b - a) % size for a, b in itertools.pairwise(order)):
            return False
        pieces += 1 + sum(b - a != size for a, b in itertools.pairwise(order))
    lanes = sum(len(r.lanes) for r in plan)
    return pieces * 4 <= lanes or pieces <= 4


def fast_store(
    e: Emitter, place: MemRef, plan: list[Run], kind: str, size: int, align: int, value: str
) -> None:
    val = place.offset
    vk = e.vt(kind)
    if contiguous(val.terms, size):
        start = run_start(e, val, plan[0], plan[0].offsets[0])
        whole = min(e.streamed, size * e.width)
        if e.mask is None and not (whole and place.multiple % whole == 0):
            write(e, place, start, value, e.width, kind, size, align)
            return
        if e.mask is None:
            at = address(e, place.ptr, start)
            e.do(f"store {vk} {value}, ptr {at}, align {whole}, !nontemporal !3")
            return
        store_row(e, place, start, kind, size, align, value)
        return
    pieces = [(run, piece) for run in plan for piece in _neighbours(run, size)]
    order = [run.lanes[n] for run, piece in pieces for n in piece]
    if order != list(range(e.width)):
        # All lanes in order first: LLVM takes short pieces with gaps apart element by element.
        picks = ", ".join(f"i32 {lane}" for lane in order)
        value = e.put(f"shufflevector {vk} {value}, {vk} poison, <{len(order)} x i32> <{picks}>")
    first = 0
    for run, piece in pieces:
        at = address(e, place.ptr, run_start(e, val, run, run.offsets[piece[0]]))
        vo = f"<{len(order)} x {kind}>"
        if len(piece) == 1:
            one = e.put(f"extractelement {vo} {value}, i64 {first}")
            e.do(f"store {kind} {one}, ptr {at}, align {align}")
        else:
            picks = ", ".join(f"i32 {n}" for n in range(first, first + len(piece)))
            part = e.put(f"shufflevector {vo} {value}, {vo} poison, <{len(piece)} x i32> <{picks}>")
            e.do(f"store <{len(piece)} x {kind}> {part}, ptr {at}, align {align}")
        first += len(piece)


def _neighbours(run: Run, size: int) -> list[list[int]]:
    """The places of a run by address, those together that lie side by side."""
    found: list[list[int]] = []
    for n in sorted(range(len(run.lanes)), key=run.offsets.__getitem__):
        if found and run.offsets[n] - run.offsets[found[-1][-1]] == size:
            found[-1].append(n)
        else:
            found.append([n])
    return found
