"""a * b + c of halves, rounded once, where a processor computes halves in float.

LLVM goes by way of double there, and from double to half there is only a function, called for each lane: a sum of
262,144 scaled halves took 5 ms on AVX-512, now 0.07. The product of two halves is exact in float. The sum is not, and
may not be rounded to nearest twice: so the first rounding is to odd, on either side of every tie of the second. Where
a processor rounds a sum as it is told, that is the odd one of the two floats next to it; elsewhere what the sum lost
is computed, and moves an even sum by one.
"""

from __future__ import annotations

from metalloid.backends.cpu.lower.access.contiguous import concat
from metalloid.backends.cpu.lower.access.transpose import part
from metalloid.backends.cpu.lower.emitter import Emitter
from metalloid.backends.cpu.lower.results import spread, typed

_DOWN, _UP = 9, 10  # to minus and to plus infinity, without exceptions


def half_fma(e: Emitter, a: str, b: str, c: str, vector: bool) -> str:
    h, f = typed(e, "half", vector), typed(e, "float", vector)
    x, y, z = (e.put(f"fpext {h} {ref} to {f}") for ref in (a, b, c))
    name, lanes = e.out.target.fused_rounding, e.out.target.lanes32
    whole = name and vector and e.width % lanes == 0
    odd = _by_rounding(e, name, lanes, [x, y, z]) if whole else _by_loss(e, x, y, z, vector)
    return e.put(f"fptrunc {f} {odd} to {h}")


def _by_rounding(e: Emitter, name: str, lanes: int, wide: list[str]) -> str:
    """Register by register: the sum rounded down where that is odd, else rounded up. An exact sum is both."""
    f, i = f"<{lanes} x float>", f"<{lanes} x i32>"
    e.out.declare(name, f"declare {f} @{name}({f}, {f}, {f}, i32)")
    done = []
    for start in range(0, e.width, lanes):
        parts = [part(e, "float", ref, start, lanes) for ref in wide]
        given = ", ".join(f"{f} {part}" for part in parts)
        down, up = (e.put(f"call {f} @{name}({given}, i32 {way})") for way in (_DOWN, _UP))
        last = e.put(f"and {i} {e.put(f'bitcast {f} {down} to {i}')}, splat (i32 1)")
        odd = e.put(f"icmp ne {i} {last}, zeroinitializer")
        done.append(e.put(f"select <{lanes} x i1> {odd}, {f} {down}, {f} {up}"))
    return concat(e, "float", done, lanes)


def _by_loss(e: Emitter, a: str, b: str, c: str, vector: bool) -> str:
    f, i, flag = (typed(e, kind, vector) for kind in ("float", "i32", "i1"))
    product = e.put(f"fmul {f} {a}, {b}")
    total = e.put(f"fadd {f} {product}, {c}")
    back = e.put(f"fsub {f} {total}, {product}")
    first = e.put(f"fsub {f} {product}, {e.put(f'fsub {f} {total}, {back}')}")
    lost = e.put(f"fadd {f} {first}, {e.put(f'fsub {f} {c}, {back}')}")
    bits, other = (e.put(f"bitcast {f} {ref} to {i}") for ref in (total, lost))
    inexact = e.put(
        f"fcmp one {f} {lost}, {spread('float', 0, vector)}"
    )  # of an infinite sum nothing is lost
    odd = e.put(f"trunc {i} {bits} to {flag}")
    moved = e.put(f"select {flag} {odd}, {flag} {spread('i1', 0, vector)}, {flag} {inexact}")
    differ = e.put(f"ashr {i} {e.put(f'xor {i} {bits}, {other}')}, {spread('i32', 31, vector)}")
    step = e.put(f"or {i} {differ}, {spread('i32', 1, vector)}")  # away from zero, or -1: towards it
    made = e.put(f"add {i} {bits}, {step}")
    chosen = e.put(f"select {flag} {moved}, {i} {made}, {i} {bits}")
    return e.put(f"bitcast {i} {chosen} to {f}")
