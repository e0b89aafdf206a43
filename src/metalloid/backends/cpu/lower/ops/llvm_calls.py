"""Calls of `llvm.*` functions: one on whole vectors, or one per lane where LLVM has no vector code."""

from __future__ import annotations

from metalloid.backends.cpu.lower.emitter import Emitter, Val, lowered
from metalloid.backends.cpu.lower.ops.bfloat import is_bfloat, narrow_bfloat, odd_float, widen_bfloat
from metalloid.backends.cpu.lower.ops.byte_dots import byte_dot
from metalloid.backends.cpu.lower.ops.half_fma import half_fma
from metalloid.backends.cpu.lower.ops.half_limits import GREATER, half_limit
from metalloid.backends.cpu.lower.ops.ldexp import ldexp
from metalloid.backends.cpu.lower.ops.partial_total import partial_total
from metalloid.backends.cpu.lower.ops.saturating import SIGNED, rounded
from metalloid.backends.cpu.lower.results import (
    SCALAR_LAST,
    SHORT,
    call_llvm,
    fast,
    result,
    spread,
    typed,
    varies,
)
from metalloid.errors import NotVectorised
from metalloid.ir import Instruction
from metalloid.ir.types import ArrayType, StructType
from metalloid.patterns import pattern
from metalloid.transforms.byte_dots import DOT
from metalloid.transforms.partial_sums import TOTAL

_SUFFIX = pattern(r"(\.(v\d+)?([if]\d+|bf16|p\d+))+$")
_UNCHANGED = frozenset(("llvm.expect", "llvm.arithmetic.fence", "llvm.expect.with.probability"))
_SATURATING = frozenset((SIGNED, "llvm.fptoui.sat"))
_EXACT_NARROW = frozenset(("llvm.fma", "llvm.fmuladd"))


def llvm_call(e: Emitter, i: Instruction) -> None:
    stem = _SUFFIX.sub("", i.called)
    if stem in _UNCHANGED:
        e.set(i.name, e.get(i.operands[0]))
        return
    if i.called.startswith(TOTAL):
        partial_total(e, i)
        return
    if i.called.startswith(DOT):
        byte_dot(e, i)
        return
    vector = varies(e, i)
    if isinstance(i.type, StructType | ArrayType):
        _pair_call(e, i, stem, vector)
        return
    if stem == "llvm.ldexp" and not is_bfloat(i.type):
        result(e, i, vector, ldexp(e, i, vector))
        return
    operands = list(i.operands)
    refs = []
    for position, operand in enumerate(operands):
        fixed = stem in SCALAR_LAST and position == 1
        refs.append((lowered(operand.type), e.scalar(operand) if fixed else e.ref(operand, vector)))
    kind = lowered(i.type)
    in_vectors = vector or e.width == 1  # as a loop's rounds may be
    if stem in _SATURATING and in_vectors and not e.out.target.saturates:
        bits, signed = int(kind[1:]), stem == SIGNED
        result(e, i, vector, rounded(e, i, bits, signed, vector))
        return
    if any(is_bfloat(o.type) for o in operands) or is_bfloat(i.type):
        result(e, i, vector, _bfloat_call(e, i, stem, refs, vector))
        return
    overloads: tuple[str, ...] = (kind,)
    if (
        stem in _SATURATING and refs[0][0] == "half"
    ):  # of halves, LLVM 22 makes NaN the least number (AVX512-FP16)
        wider = f"fpext {typed(e, 'half', vector)} {refs[0][1]} to {typed(e, 'float', vector)}"
        refs = [("float", e.put(wider))]
    if stem in _SATURATING or stem in (
        "llvm.lround",
        "llvm.lrint",
        "llvm.llrint",
        "llvm.scmp",
        "llvm.ucmp",
    ):
        overloads = (kind, refs[0][0])
    elif stem == "llvm.powi":
        raise NotVectorised("[engine] llvm.powi is not supported")
    elif stem == "llvm.is.fpclass":
        overloads = (refs[0][0],)
    if stem in _LIBM and vector:
        result(e, i, vector, _libm(e, stem, kind, [r for _, r in refs]))
        return
    if stem == "llvm.fmuladd":
        stem = "llvm.fma"
    if kind == "half" and not e.out.target.fuses_halves and (made := _of_halves(e, i, stem, refs, vector)):
        result(e, i, vector, made)
        return
    result(e, i, vector, call_llvm(e, stem, kind, refs, vector, fast(i), overloads))


def _of_halves(e: Emitter, i: Instruction, stem: str, refs: list[tuple[str, str]], vector: bool) -> str:
    """What LLVM would do for each lane where a processor computes halves in float; "" for all else."""
    given, name = [ref for _, ref in refs], stem.removeprefix("llvm.")
    if name == "fma":
        return half_fma(e, given[0], given[1], given[2], vector)
    if name not in GREATER:
        return ""
    numbers = bool({"nnan", "fast"} & {*i.flags})
    return half_limit(e, name, e.width if vector else 0, given[0], given[1], numbers)


# LLVM has no vector code for these; it calls the C library once per lane.
_LIBM = frozenset(f"llvm.{n}" for n in "frexp tan asin acos atan atan2 sinh cosh tanh".split())


def _libm(e: Emitter, stem: str, kind: str, vectors: list[str]) -> str:
    total = "poison"
    for lane in range(e.width):
        parts = [(kind, e.put(f"extractelement {e.vt(kind)} {v}, i64 {lane}")) for v in vectors]
        one = call_llvm(e, stem, kind, parts, False)
        total = e.put(f"insertelement {e.vt(kind)} {total}, {kind} {one}, i64 {lane}")
    return total


def _bfloat_call(e: Emitter, i: Instruction, stem: str, refs: list[tuple[str, str]], vector: bool) -> str:
    """In float, then rounded; a fused one in double, so that it is rounded right."""
    bf = [is_bfloat(o.type) for o in i.operands]
    if stem == "llvm.fabs":
        return e.put(f"and {typed(e, 'i16', vector)} {refs[0][1]}, {spread('i16', 0x7FFF, vector)}")
    wide = [
        ("float", widen_bfloat(e, r, vector)) if b else (t, r) for b, (t, r) in zip(bf, refs, strict=True)
    ]
    if stem in _EXACT_NARROW:
        d, f = typed(e, "double", vector), typed(e, "float", vector)
        doubles = [("double", e.put(f"fpext {f} {r} to {d}")) for _, r in wide]
        done = call_llvm(e, "llvm.fma", "double", doubles, vector)
        return narrow_bfloat(e, odd_float(e, done, vector), vector)
    kind = "float" if is_bfloat(i.type) else lowered(i.type)
    overloads: tuple[str, ...] = (kind,)
    if stem == "llvm.is.fpclass":  # a bfloat's bits in front of zeros are a float of the same class
        overloads = ("float",)
    elif stem.endswith(".sat"):
        overloads = (kind, "float")
    done = call_llvm(e, stem, kind, wide, vector, "", overloads)
    return narrow_bfloat(e, done, vector) if is_bfloat(i.type) else done


def _pair_call(e: Emitter, i: Instruction, stem: str, vector: bool) -> None:
    """A function with two results: with.overflow, frexp, modf, sincos."""
    assert isinstance(i.type, StructType)
    kinds = [lowered(t) for t in i.type.elements]
    source = lowered(i.operands[0].type)
    overloads = (
        (source,) if "overflow" in stem or stem in ("llvm.modf", "llvm.sincos") else (source, kinds[1])
    )
    if stem in ("llvm.frexp", "llvm.modf", "llvm.sincos") and vector:
        parts = ["poison", "poison"]
        operand = e.vector(i.operands[0])
        for lane in range(e.width):
            x = e.put(f"extractelement {e.vt(source)} {operand}, i64 {lane}")
            both = _struct_call(e, stem, kinds, [(source, x)], False, overloads)
            for n, kind in enumerate(kinds):
                one = e.put(f"extractvalue {{ {kinds[0]}, {kinds[1]} }} {both}, {n}")
                parts[n] = e.put(f"insertelement {e.vt(kind)} {parts[n]}, {kind} {one}, i64 {lane}")
        for n, kind in enumerate(kinds):
            e.set(f"{i.name}#{n}", Val(kind, vec=parts[n]))
        return
    refs = [(lowered(o.type), e.ref(o, vector)) for o in i.operands]
    both = _struct_call(e, stem, kinds, refs, vector, overloads)
    types = ", ".join(typed(e, k, vector) for k in kinds)
    for n, kind in enumerate(kinds):
        one = e.put(f"extractvalue {{ {types} }} {both}, {n}")
        e.set(f"{i.name}#{n}", Val(kind, vec=one) if vector else Val(kind, base=one))


def _struct_call(
    e: Emitter,
    stem: str,
    kinds: list[str],
    arguments: list[tuple[str, str]],
    vector: bool,
    overloads: tuple[str, ...],
) -> str:
    n = f"v{e.width}" if vector else ""
    name = stem + "".join(f".{n}{SHORT.get(t, t)}" for t in overloads)
    out = "{ " + ", ".join(typed(e, k, vector) for k in kinds) + " }"
    types = [typed(e, k, vector) for k, _ in arguments]
    e.out.declare(name, f"declare {out} @{name}({', '.join(types)})")
    return e.put(
        f"call {out} @{name}({', '.join(f'{t} {r}' for t, (_, r) in zip(types, arguments, strict=True))})"
    )
