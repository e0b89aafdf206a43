"""Sums, products and differences of functions of mathematics in one expression, in every mode and namespace."""

from __future__ import annotations

from tests.engine.fuzz.writer import Place, Writer

# Of a number between -13 and 13; results stay below 30, and none is near a pole or a jump.
FUNCTIONS = (
    *(
        "sin({x})",
        "cos({x})",
        "tanh({x})",
        "atan({x})",
        "exp({x} * 0.25f)",
        "exp2({x} * 0.25f)",
        "log(fabs({x}) + 0.5f)",
    ),
    *(
        "sqrt(fabs({x}))",
        "rsqrt(fabs({x}) + 0.5f)",
        "log2(fabs({x}) + 0.5f)",
        "sinh({x} * 0.25f)",
        "cosh({x} * 0.25f)",
    ),
    *(
        "asin({x} * 0.07f)",
        "acos({x} * 0.07f)",
        "pow(fabs({x}) + 0.5f, {y} * 0.1f)",
        "atan2({x}, fabs({y}) + 0.5f)",
    ),
    *(
        "log10(fabs({x}) + 0.5f)",
        "exp10({x} * 0.1f)",
        "sinpi({x} * 0.13f)",
        "cospi({x} * 0.13f)",
        "asinh({x})",
    ),
    *(
        "fabs({x})",
        "fma({x}, 0.5f, {y})",
        "(min({x}, {y}) + 0.0f)",  # of 0 and -0 it may be either
        "mix({x}, {y}, 0.25f)",
        "1.0f / (fabs({x}) + 1.0f)",
    ),
    *(
        "powr(fabs({x}) + 0.5f, 0.3f)",
        "acosh(fabs({x}) + 1.5f)",
        "atanh({x} * 0.05f)",
        "length(float2({x}, {y}))",
    ),
    *(
        "dot(float3({x}, {y}, 1.0f), float3({y}, 2.0f, {x})) * 0.1f",
        "fast::exp({x} * 0.2f)",
        "fast::sin({x})",
    ),
    *(
        "precise::cos({x})",
        "precise::exp({x} * 0.2f)",
        "fast::log(fabs({x}) + 0.5f)",
        "precise::sqrt(fabs({x}))",
    ),
)
HALF = (
    "sin({x})",
    "cos({x})",
    "exp({x} * 0.25h)",
    "sqrt(fabs({x}))",
    "tanh({x})",
    "{x} * 0.5h",
    "log(fabs({x}) + 0.5h)",
)


def write(w: Writer, place: Place) -> None:
    w.line(place, f"reals[i * 4 + {w.choose(0, 2)}] = {terms(w)};")


def terms(w: Writer) -> str:
    made = _one(w)
    for _ in range(w.pick((1, 1, 2))):
        made = f"{made} {w.pick(('+', '-', '-'))} {_one(w)}"
    return made


def _argument(w: Writer) -> str:
    return w.pick(
        ("b[i]", "fs[i]", "(b[i] * 0.37f)", "float(lane) * 0.25f", "fs[N - 1 - i]", "float(args[0])", "b[i]")
    )


def _function(w: Writer) -> str:
    return w.pick(FUNCTIONS).format(x=_argument(w), y=_argument(w))


def _one(w: Writer) -> str:
    return f"{_function(w)} * {_function(w)}" if w.chance(3) else _function(w)


def turned(w: Writer, place: Place) -> None:
    """A rotation of pairs: sine and cosine of one angle, both used twice."""
    n = w.fresh("angle")
    w.line(place, f"const float {n} = {_argument(w)} * {w.pick(('0.1f', '0.5f', '1.0f'))};")
    if w.chance(2):
        w.line(place, f"float c_{n}; const float s_{n} = sincos({n}, c_{n});")
    else:
        w.line(place, f"const float c_{n} = cos({n}), s_{n} = sin({n});")
    w.line(
        place,
        f"reals[i * 4] = b[i] * c_{n} - fs[i] * s_{n};",
        f"reals[i * 4 + 1] = b[i] * s_{n} + fs[i] * c_{n};",
    )


def complex_exp(w: Writer, place: Place) -> None:
    """A struct of two floats through functions that return it."""
    w.top("Complex", """
struct Complex { float re, im; };
static Complex exp_of(Complex z) { float e = exp(z.re * 0.25f); return {e * cos(z.im), e * sin(z.im)}; }
static Complex times(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
""")  # fmt: skip
    n = w.fresh("z")
    w.line(place, f"Complex {n} = exp_of(Complex{{{_argument(w)}, {_argument(w)}}});")
    if w.chance(2):
        w.line(
            place,
            f"for (uint r = 0; r < {w.choose(1, 2)}; r++) {n} = times({n}, Complex{{0.5f, b[i] * 0.02f}});",
        )
    w.line(place, f"reals[i * 4] = {n}.re;", f"reals[i * 4 + 1] = {n}.im;")


def halves(w: Writer, place: Place) -> None:
    made = " + ".join(w.pick(HALF).format(x="hs[i]") for _ in range(w.choose(1, 3)))
    w.line(place, f"reals[i * 4 + 3] = float({made}) * 0.01f;")


def vectors(w: Writer, place: Place) -> None:
    count = w.pick((2, 2, 3, 4))
    x = f"float{count}(b[i], fs[i], {', '.join(('1.5f', 'f1 * 0.01f')[: count - 2])})".replace(", )", ")")
    one, other = (
        w.pick(("sin({x})", "cos({x})", "exp({x} * 0.2f)", "tanh({x})", "sqrt(fabs({x}))")) for _ in range(2)
    )
    n = w.fresh("xs")
    w.line(place, f"const float{count} {n} = {one.format(x=x)} {w.pick('+-*')} {other.format(x=x)};")
    w.line(place, f"reals[i * 4 + 2] = {n}.x + {n}.y * 0.5f;")
