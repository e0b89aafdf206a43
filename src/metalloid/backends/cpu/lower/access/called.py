"""Accesses of lanes that lie anywhere, as calls of a function that looks at the bounds, reports and accesses.

Written out, one takes 1,500 instructions where the processor has no gathers, and flash attention has two hundred: its
baseline code was 1.6 MB, and took 4.4 s (0.8 s now). With gathers it is some fifty, and still most of a long kernel's
baseline code (MLX's attention: 9,800 lines in the place of 20,700). One whose buffer is not known is called in good
code too: the lookup is the most of it, and one for all lanes from the lowest address to the highest is nearly always
enough.
"""

from __future__ import annotations

from metalloid.backends.cpu import abi
from metalloid.backends.cpu.lower import masked
from metalloid.backends.cpu.lower.access.gathers import addresses, gather
from metalloid.backends.cpu.lower.access.mem_ref import MemRef
from metalloid.backends.cpu.lower.emitter import Emitter, Val
from metalloid.backends.cpu.lower.text import Text
from metalloid.hashes import sha256
from metalloid.ir import Instruction


def is_called(e: Emitter, place: MemRef) -> bool:
    """Whether an access of lanes anywhere is to be a call: in code that is wanted soon, or with a lookup."""
    if e.out.continue_after_fault:
        return False
    if place.limit is not None and place.moved == "0" and place.check != place.offset:
        return False  # a lane's own frame: its bounds lie elsewhere than the address
    return place.search or e.out.brief


def access(
    e: Emitter, i: Instruction, place: MemRef, kind: str, size: int, align: int, value: str | None = None
) -> str:
    """The lanes' elements; or nothing, and `value` is stored to them."""
    bounds = "search" if place.search else "limit" if place.limit is not None else "free"
    name = f"{bounds}.{'load' if value is None else 'store'}.{kind}.{align}"
    if name not in e.out.helpers:
        e.out.helpers[name] = _function(e, name, bounds, kind, size, align, value is not None)
    lanes, plus = _in_memory(e, place.offset)
    arguments = f"ptr {place.ptr}, ptr {lanes}, i64 {plus}, {e.vt('i1')} {e.mask_ref()}"
    if bounds != "free":
        site = e.out.site(i, place.root, size, value is not None)
        limit = "0" if place.search else place.limit
        arguments += f", i64 {place.moved}, i64 {limit}, ptr %launch, i32 {site}, i32 %first, i32 %gx, i32 %gy, i32 %gz"
    if value is None:
        return e.put(f"call {e.vt(kind)} @{name}({arguments})")
    e.do(f"call void @{name}({arguments}, {e.vt(kind)} {value})")
    return ""


def _in_memory(e: Emitter, offset: Val) -> tuple[str, str]:
    """Where each lane's offset stands, and what is to be added to all of them: lanes at constant distances are a table
    of the module, and a vector is put on the stack once for all the accesses of a block that lie round it."""
    if offset.base is not None and all(not c for c, _ in offset.terms):
        pattern = e.constants("i64", dict(offset.terms).get("", (0,) * e.width))
        name = f"@{abi.LANES}" + sha256(pattern.encode()).hexdigest()[:12]
        e.out.declare(name, f"{name} = private constant {e.vt('i64')} {pattern}")
        return name, offset.base
    vector = e.expand(offset)
    vector, plus = e.sums.get(vector, (vector, 0))
    key = f"in memory: {vector}"
    if key not in e.built:
        e.built[key] = e.alloca(e.vt("i64"), "lanes")
        e.do(f"store {e.vt('i64')} {vector}, ptr {e.built[key]}")
    return e.built[key], str(plus)


def _function(e: Emitter, name: str, bounds: str, kind: str, size: int, align: int, write: bool) -> str:
    t = Text(e.out)
    t.mask = "%mask"
    t.launch_values["nowhere"] = t.alloca("<2 x i64>", "nowhere")  # its own, in a coroutine too
    lanes = t.put(f"load {t.vt('i64')}, ptr %lanes")
    offset = t.put(f"add {t.vt('i64')} {lanes}, {t.splat('i64', '%plus')}")
    match bounds:
        case "search":
            mask = _searched(t, offset, size, write)
        case "limit":
            moved = t.put(f"add {t.vt('i64')} {offset}, {t.splat('i64', '%moved')}")
            inside = t.put(f"icmp ult {t.vt('i64')} {moved}, {t.splat('i64', '%limit')}")
            mask = _told(t, offset, inside)
        case _:
            mask = "%mask"
    if write:
        masked.scatter(t, addresses(t, "%base", offset), mask, kind, align, "%value")
        t.do("ret void")
    else:
        t.do(f"ret {t.vt(kind)} {gather(t, '%base', offset, mask, kind, align)}")
    taken = f"ptr %base, ptr %lanes, i64 %plus, {t.vt('i1')} %mask"
    if bounds != "free":
        taken += ", i64 %moved, i64 %limit, ptr %launch, i32 %site, i32 %first, i32 %gx, i32 %gy, i32 %gz"
    taken += f", {t.vt(kind)} %value" if write else ""
    head = f"define internal {'void' if write else t.vt(kind)} @{name}({taken}) noinline nounwind {{"
    return "\n".join([head, *t.allocas, *t.prologue, *t.lines, "}", ""])


def _searched(t: Text, offset: str, size: int, write: bool) -> str:
    """The lanes that are inside some buffer: one lookup for all of them, or one for each where that is not enough."""
    kept = t.alloca(t.vt("i1"), "kept")
    look, apart, done = (t.fresh_label(x) for x in ("look", "apart", "done"))
    t.do(f"store {t.vt('i1')} %mask, ptr {kept}")
    t.do(f"br i1 {t.any('%mask')}, label %{look}, label %{done}")
    t.label(look)
    one = t.put(f"extractelement {t.vt('i64')} {offset}, i32 {t.first('%mask')}")
    active = t.put(f"select {t.vt('i1')} %mask, {t.vt('i64')} {offset}, {t.vt('i64')} {t.splat('i64', one)}")
    low, high = (_reduced(t, which, active) for which in ("umin", "umax"))
    span = t.put(f"add i64 {t.put(f'sub i64 {high}, {low}')}, {size}")
    together = t.put(f"icmp eq i32 {_outside(t, low, str(span), write)}, 0")
    t.do(f"br i1 {together}, label %{done}, label %{apart}, !prof !1")
    t.label(apart)
    flags = t.alloca(t.vt("i8"), "inside")
    t.do(f"store {t.vt('i8')} zeroinitializer, ptr {flags}")
    for lane in t.lanes_loop("%mask"):
        at = t.put(f"extractelement {t.vt('i64')} {offset}, i32 {lane}")
        flag = t.put(f"trunc i32 {t.put(f'xor i32 {_outside(t, at, str(size), write)}, 1')} to i8")
        t.do(f"store i8 {flag}, ptr {t.put(f'getelementptr i8, ptr {flags}, i32 {lane}')}")
    loaded = t.put(f"load {t.vt('i8')}, ptr {flags}")
    good = _told(t, offset, t.put(f"icmp ne {t.vt('i8')} {loaded}, zeroinitializer"))
    t.do(f"store {t.vt('i1')} {good}, ptr {kept}")
    t.do(f"br label %{done}")
    t.label(done)
    return t.put(f"load {t.vt('i1')}, ptr {kept}")


def _told(t: Text, offset: str, inside: str) -> str:
    """The lanes of the mask that are inside; the first one that is not is reported."""
    good = t.both("%mask", inside)
    bad = t.both("%mask", t.put(f"xor {t.vt('i1')} {inside}, splat (i1 true)"))
    report, after = t.fresh_label("out"), t.fresh_label("after")
    t.do(f"br i1 {t.any(bad)}, label %{report}, label %{after}, !prof !2")
    t.label(report)
    lane = t.first(bad)
    one = t.put(f"extractelement {t.vt('i64')} {offset}, i32 {lane}")
    check, index = t.put(f"add i64 {one}, %moved"), t.put(f"add i32 %first, {lane}")
    t.do(
        f"call void @{t.out.fault()}(ptr %launch, i32 %site, i64 {check}, i32 {index}, i32 %gx, i32 %gy, i32 %gz)"
    )
    t.do(f"br label %{after}")
    t.label(after)
    return good


def _outside(t: Text, address: str, size: str, write: bool) -> str:
    t.out.declare(abi.OUTSIDE, f"declare i32 @{abi.OUTSIDE}(ptr, i64, i64, i32)")
    return t.put(f"call i32 @{abi.OUTSIDE}(ptr %launch, i64 {address}, i64 {size}, i32 {int(write)})")


def _reduced(t: Text, which: str, vector: str) -> str:
    name = f"llvm.vector.reduce.{which}.v{t.width}i64"
    t.out.declare(name, f"declare i64 @{name}({t.vt('i64')})")
    return t.put(f"call i64 @{name}({t.vt('i64')} {vector})")
