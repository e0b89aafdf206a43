"""Write docs/math.md: `python -m tests.math.table`."""

from __future__ import annotations

from pathlib import Path

from tests.math.bounds import Bound
from tests.math.cases import CASES, Case
from tests.math.measure import MODES, inputs, measure
from tests.math.ulp import BFLOAT, FLOAT, HALF

PAGE = Path(__file__).parents[2] / "docs" / "math.md"

INTRODUCTION = """\
# How exact the math functions are

Made by `python -m tests.math.table`; `tests/math` asserts the limits on every run.

The functions are scalar C++ in `src/metalloid/frontend/include/metalloid/` (`math_*.h`), so that they
vectorise with the kernel around them and give the same bits on every machine. They compile to plain
arithmetic and the `llvm.*` intrinsics that are single instructions, or, for `ldexp`, two products where a processor
has none; no function of a C library is called. The
polynomials come from `python -m tests.math.fit`.

## Modes
| mode | `metal::exp` is | the user's own arithmetic |
|---|---|---|
| safe | `precise::exp` | IEEE; a product and a sum in one expression may be fused |
| relaxed | `fast::exp`; `min`, `max`, `clamp` still see NaN | reassociated, reciprocals, no sign of zero |
| fast | `fast::exp` | the same, and no promise about NaN and infinity |

Inside the functions nothing is reassociated in any mode: `precise::exp` has the same bits in all three.

- Denormal arguments and results are kept in every mode.
- `precise::sin`, `cos`, `tan` are right up to the largest float. The `fast::` ones keep their limit up to
  |x| = 2^16; beyond 2^22 their value has no meaning, but `sin` and `cos` stay within [-1, 1].
- `fmod` is exact in every mode. `pow` has C's special values; `powr` is NaN for negative bases.
- `precise::` and `fast::` are of floats, as in Metal: a half or a bfloat becomes a float there, and so is the result.
- half and bfloat compute in float and round once. Sums, products, division, `fma`, `sqrt` and
  `fract` are correctly rounded in both, `rsqrt` in half.
- Mixed arguments: a vector decides, and scalars spread over it. Otherwise float wins over half and bfloat,
  and these over integers; half with bfloat is float. Integers follow C++ where the function has an integer
  form, else they become float.
- `select` takes `b` where the mask is not zero. `rint` rounds halves to even, `round` away from zero. `fract`
  of an infinity is 0, `sign` of NaN is 0, `normalize` of a zero vector is that vector.

## Errors
Largest error found, in ulp, and the limit: 0 is exact, 0.5 correctly rounded. One argument: {unary} floats,
among them special values, random bits and dense stretches; all 65,536 halves and bfloats. Two arguments:
{binary} pairs; three: {ternary} triples. In fast mode only finite arguments and results count. The columns of
half and bfloat are the worst of the three modes. A function with two results has two rows; vectors are of two
or three components.

Limits in words: `mix` and `dot` are judged by their formula, whose inner rounding is relative to the terms and
not to what is left when they cancel; that is where their large figures come from. "While squares fit": the sum
of the squares is between 2^-96 and half the largest float; `precise::length` needs no such care. `smoothstep`
asks for low < high; it, `mix`, `dot` and `cross` for differences and products within float.

| function | safe | limit | relaxed | fast | limit | half | bfloat | limit |
|---|--:|--:|--:|--:|--:|--:|--:|--:|
"""


def words(limit: float | Bound) -> str:
    return limit.words if isinstance(limit, Bound) else f"{limit:g}"


def row(case: Case) -> str:
    safe, relaxed, fast = (measure(case, FLOAT, mode).worst for mode in MODES)
    half, bfloat = (max(measure(case, form, mode).worst for mode in MODES) for form in (HALF, BFLOAT))
    narrow = words(case.half) + (f"; bfloat {words(case.bfloat)}" if case.bfloat is not None else "")
    return (
        f"| `{case.name}` | {safe:.2f} | {words(case.precise)} | {relaxed:.2f} | {fast:.2f} | {words(case.fast)} "
        f"| {half:.2f} | {bfloat:.2f} | {narrow} |\n"
    )


def main() -> None:
    counts = {arity: len(inputs(next(c for c in CASES if c.arity == arity), FLOAT)[0]) for arity in (1, 2, 3)}
    text = INTRODUCTION.format(unary=f"{counts[1]:,}", binary=f"{counts[2]:,}", ternary=f"{counts[3]:,}")
    PAGE.write_text(text + "".join(row(case) for case in CASES))
    print(f"{PAGE.name}: {len(CASES)} functions")


if __name__ == "__main__":
    main()
