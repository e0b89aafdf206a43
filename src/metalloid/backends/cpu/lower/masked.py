"""Loads and stores of some lanes: by instruction where the processor has them, elsewhere without branches.

LLVM writes a branch for every lane of a masked access that the processor cannot do itself. A hundred gathers of 32
lanes become thousands of blocks with whole gangs of values alive across them, and register allocation took half a
minute (ggml's kernel_mul_mv_iq2_xs_f32, NEON). There, lanes that are off go to a place on the stack instead, and all
lanes access memory, one behind the other.
"""

from __future__ import annotations

from metalloid.backends.cpu.lower.text import Text

_SUFFIX = {"float": "f32", "half": "f16", "double": "f64", "bfloat": "bf16"}
_BYTES = {"i8": 1, "i16": 2, "half": 2, "bfloat": 2, "i32": 4, "float": 4, "i64": 8, "double": 8, "ptr": 8}
_CUT = ("i8", "i16", "i32")  # numbers that longer ones are cut to
ALL = "splat (i1 true)"


def suffix(kind: str) -> str:
    return _SUFFIX.get(kind, kind)


def gather(e: Text, pointers: str, mask: str | None, kind: str, align: int, count: int = 0) -> str:
    """Each lane from its own address; 0 in lanes that are off."""
    n = count or e.width
    if mask is None or e.out.target.gathers:
        return _gather(e, pointers, mask or ALL, kind, align, n)
    got = _gather(e, _elsewhere(e, pointers, mask, n), ALL, kind, align, n)
    return e.put(f"select <{n} x i1> {mask}, <{n} x {kind}> {got}, <{n} x {kind}> zeroinitializer")


def scatter(
    e: Text, pointers: str, mask: str | None, kind: str, align: int, value: str, count: int = 0
) -> None:
    """Each lane to its own address, in order."""
    n = count or e.width
    if mask is not None and not e.out.target.scatters:
        pointers, mask = _elsewhere(e, pointers, mask, n), None
    name = declared(e, "scatter", kind, n)
    if _apart(e, mask):
        name = _function(e, "scatter", kind, n, align)
        e.do(f"call void @{name}(<{n} x {kind}> {value}, <{n} x ptr> {pointers})")
        return
    e.do(
        f"call void @{name}(<{n} x {kind}> {value}, <{n} x ptr> align {align} {pointers}, <{n} x i1> {mask or ALL})"
    )


def load(e: Text, pointer: str, mask: str, kind: str, align: int, count: int = 0) -> str:
    """Neighbours; 0 in lanes that are off."""
    n = count or e.width
    if not e.out.target.masks_memory:
        return gather(e, _neighbours(e, pointer, kind, n), mask, kind, align, n)
    name = declared(e, "load", kind, n)
    return e.put(
        f"call <{n} x {kind}> @{name}(ptr align {align} {pointer}, <{n} x i1> {mask}, <{n} x {kind}> zeroinitializer)"
    )


def store(e: Text, pointer: str, mask: str, kind: str, align: int, value: str, count: int = 0) -> None:
    n = count or e.width
    if not e.out.target.masks_memory:
        scatter(e, _neighbours(e, pointer, kind, n), mask, kind, align, value, n)
        return
    register = max(1, e.out.target.vector_bytes // _BYTES.get(kind, n))
    if n <= register or n % register or e.out.brief:
        name = declared(e, "store", kind, n)
        value = _cut_before(e, kind, n, value)
        e.do(f"call void @{name}(<{n} x {kind}> {value}, ptr align {align} {pointer}, <{n} x i1> {mask})")
        return
    for first in range(0, n, register):  # in order: LLVM writes a long vector's registers in any
        picks = ", ".join(f"i32 {m}" for m in range(first, first + register))
        part, some = (
            e.put(f"shufflevector <{n} x {t}> {x}, <{n} x {t}> poison, <{register} x i32> <{picks}>")
            for t, x in ((kind, value), ("i1", mask))
        )
        at = e.put(f"getelementptr {kind}, ptr {pointer}, i64 {first}")
        store(e, at, some, kind, align, part, register)


def _cut_before(e: Text, kind: str, n: int, value: str) -> str:
    """The value behind a fence that is no instruction: what cuts numbers to it is not done by the store as well.

    AVX-512 has stores that do. Where LLVM finds that only one lane is on, it makes a store of that lane and forgets the
    cutting: a number of 32 or 64 bits goes over the neighbours of a byte.
    """
    words, odd = divmod(n * _BYTES.get(kind, 0), 4)
    if not e.out.target.mask_bits or kind not in _CUT or odd:
        return value
    words_type, name = (f"<{words} x float>", f"v{words}f32") if words > 1 else ("float", "f32")
    fence = f"llvm.arithmetic.fence.{name}"
    e.out.declare(fence, f"declare {words_type} @{fence}({words_type})")
    made = e.put(f"bitcast <{n} x {kind}> {value} to {words_type}")
    kept = e.put(f"call {words_type} @{fence}({words_type} {made})")
    return e.put(f"bitcast {words_type} {kept} to <{n} x {kind}>")


def declared(e: Text, what: str, kind: str, n: int) -> str:
    """The name of LLVM's intrinsic."""
    vk, vp, vb = f"<{n} x {kind}>", f"<{n} x ptr>", f"<{n} x i1>"
    many = what in ("gather", "scatter")
    name = f"llvm.masked.{what}.v{n}{suffix(kind)}" + (f".v{n}p0" if many else ".p0")
    place = vp if many else "ptr"
    reads = what in ("gather", "load")
    taken = f"{place}, {vb}, {vk}" if reads else f"{vk}, {place}, {vb}"
    e.out.declare(name, f"declare {vk if reads else 'void'} @{name}({taken})")
    return name


def _gather(e: Text, pointers: str, mask: str, kind: str, align: int, n: int) -> str:
    name = declared(e, "gather", kind, n)
    if _apart(e, None if mask == ALL else mask):
        name = _function(e, "gather", kind, n, align)
        return e.put(f"call <{n} x {kind}> @{name}(<{n} x ptr> {pointers})")
    return e.put(
        f"call <{n} x {kind}> @{name}(<{n} x ptr> align {align} {pointers}, <{n} x i1> {mask}, "
        f"<{n} x {kind}> zeroinitializer)"
    )


def _apart(e: Text, mask: str | None) -> bool:
    """Whether an access of all lanes, one behind the other, is a call: code that is wanted soon."""
    return mask is None and e.out.brief


def _function(e: Text, what: str, kind: str, n: int, align: int) -> str:
    name, act, vk, vp = (
        f"{what}.{n}.{kind}.{align}",
        declared(e, what, kind, n),
        f"<{n} x {kind}>",
        f"<{n} x ptr>",
    )
    if what == "gather":
        head = f"{vk} @{name}({vp} %at)"
        call = f"call {vk} @{act}({vp} align {align} %at, <{n} x i1> {ALL}, {vk} zeroinitializer)"
        body = f"  %r = {call}\n  ret {vk} %r\n"
    else:
        head = f"void @{name}({vk} %value, {vp} %at)"
        body = f"  call void @{act}({vk} %value, {vp} align {align} %at, <{n} x i1> {ALL})\n  ret void\n"
    e.out.helpers.setdefault(name, f"define internal {head} noinline nounwind {{\n{body}}}\n")
    return name


def _elsewhere(e: Text, pointers: str, mask: str, n: int) -> str:
    """The addresses, with a place of nobody's for lanes that are off.

    LLVM leaves an alloca on the stack of a coroutine although a vector of its addresses lives on in the frame.
    """
    if "nowhere" in e.launch_values:
        place = e.launch_values["nowhere"]
    elif e.out.nowhere is not None:
        place = e.at_start("nowhere", f"getelementptr i8, ptr %kept, i64 {e.out.nowhere}")
    else:
        place = e.launch_values["nowhere"] = e.alloca("<2 x i64>", "nowhere")
    nowhere = e.splat("ptr", place, n)
    return e.put(f"select <{n} x i1> {mask}, <{n} x ptr> {pointers}, <{n} x ptr> {nowhere}")


def _neighbours(e: Text, pointer: str, kind: str, n: int) -> str:
    return e.put(f"getelementptr {kind}, ptr {pointer}, <{n} x i64> {e.constants('i64', list(range(n)))}")
