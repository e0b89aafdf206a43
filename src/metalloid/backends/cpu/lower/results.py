"""What every operation needs: is the result a vector, how is it written, how is a function of LLVM called."""

from __future__ import annotations

from collections.abc import Callable

from metalloid.backends.cpu.lower.emitter import Emitter, Val, lowered
from metalloid.ir import Instruction
from metalloid.ir.opcodes import FAST_MATH

SHORT = {"float": "f32", "half": "f16", "double": "f64"}
SCALAR_LAST = frozenset(("llvm.ctlz", "llvm.cttz", "llvm.abs", "llvm.is.fpclass"))


def varies(e: Emitter, i: Instruction) -> bool:
    """Whether the result needs a vector."""
    return e.width > 1 and e.shape(i.value) is None


def result(e: Emitter, i: Instruction, vector: bool, ref: str) -> None:
    kind = lowered(i.type)
    e.set(i.name, Val(kind, vec=ref) if vector else Val(kind, base=ref))


def affine(e: Emitter, i: Instruction, base: str, exact: Callable[[], str]) -> None:
    """A result with base and pattern; its exact vector as well, where somebody needs it."""
    shape = e.shape(i.value)
    assert shape is not None
    vec = exact() if shape.terms and i.name in e.needs else None
    e.set(i.name, Val(lowered(i.type), base, shape.terms, vec))


def fast(i: Instruction) -> str:
    return "".join(f"{f} " for f in i.flags if f in FAST_MATH)


def typed(e: Emitter, kind: str, vector: bool) -> str:
    return e.vt(kind) if vector else kind


def spread(type: str, number: int, vector: bool) -> str:
    """A number as a constant."""
    text = (
        ("0xH0000" if type == "half" else f"{float(number)}")
        if type in ("float", "double", "half")
        else str(number)
    )
    return f"splat ({type} {text})" if vector else text


def call_llvm(
    e: Emitter,
    stem: str,
    result: str,
    arguments: list[tuple[str, str]],
    vector: bool,
    flags: str = "",
    overloads: tuple[str, ...] = (),
) -> str:
    """A call of an overloaded function; `arguments` as (type of a lane, text)."""
    n = f"v{e.width}" if vector else ""
    suffix = "".join(f".{n}{SHORT.get(t, t)}" for t in (overloads or (result,)))
    name = stem + suffix
    types, texts = [], []
    for position, (kind, ref) in enumerate(arguments):
        fixed = stem in SCALAR_LAST and position == 1
        types.append(kind if fixed else typed(e, kind, vector))
        texts.append(f"{types[-1]} {ref}")
    out = typed(e, result, vector)
    e.out.declare(name, f"declare {out} @{name}({', '.join(types)})")
    return e.put(f"call {flags}{out} @{name}({', '.join(texts)})")
