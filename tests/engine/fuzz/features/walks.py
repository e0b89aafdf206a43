"""Structs that carry a position through a loop: counters for each dimension, strides, a step of any size."""

from __future__ import annotations

from tests.engine.fuzz.writer import Place, Writer

# A counter for each dimension in an array; the last dimension counts first.
ARRAY = """
template <int D, typename Offset> struct Walk {
    Offset at = 0;
    int counts[D] = {};
    void next(uint n, constant int* shape, constant long* strides) {
        for (int d = D - 1; d >= 0 && n > 0; d--) {
            uint counted = uint(counts[d]) + n, most = uint(shape[d]);
            n = counted / most;
            int now = int(counted % most);
            at += Offset(now - counts[d]) * Offset(strides[d]);
            counts[d] = now;
        }
    }
    Offset place() const { return at; }
};
"""
# A struct in a struct, one for each dimension; the outer one is asked when this one's row is done.
NESTED = """
template <int D, typename Offset> struct Nested {
    Nested<D - 1, Offset> rest; Offset at = 0; int count = 0;
    void next(constant int* shape, constant long* strides) {
        count++; at += Offset(strides[D - 1]);
        if (count >= shape[D - 1]) { count = 0; rest.next(shape, strides); at = rest.place(); }
    }
    void next(int n, constant int* shape, constant long* strides) {
        count += n; at += Offset(n) * Offset(strides[D - 1]);
        const int most = shape[D - 1];
        if (count >= most) {
            int over = count / most;
            if (over > 1) rest.next(over, shape, strides); else rest.next(shape, strides);
            count -= over * most; at = rest.place() + Offset(count) * Offset(strides[D - 1]);
        }
    }
    Offset place() const { return at; }
};
template <typename Offset> struct Nested<0, Offset> {
    void next(constant int*, constant long*) {}
    void next(int, constant int*, constant long*) {}
    Offset place() const { return 0; }
};
"""
# The place of an element, from its number.
DIRECT = """
static long located(uint n, int dims, constant int* shape, constant long* strides) {
    long at = 0;
    for (int d = dims - 1; d >= 0; d--) { at += long(n % uint(shape[d])) * strides[d]; n /= uint(shape[d]); }
    return at;
}
"""
BASE = 64  # strides may be negative: at most 5 * 9 below


def write(w: Writer, place: Place) -> None:
    kind = w.pick(("Walk", "Nested", "Nested"))
    w.top(kind, ARRAY if kind == "Walk" else NESTED)
    dims, offset = w.choose(1, 4), w.pick(("long", "int", "long"))
    name, r = w.fresh("walk"), w.fresh("r")
    start, step = _start(w), _step(w)
    rounds = w.pick((f"{w.choose(2, 6)}u", "args[1] % 7", f"({w.integer(2)} & 3u) + 1"))
    w.line(place, f"{kind}<{dims}, {offset}> {name}; {name}.next({start}, shape, strides);")
    take = w.pick(("u0", "u1", "u2"))
    meet = "&" not in rounds
    with w.block(place, f"for (uint {r} = 0; {r} < {rounds}; {r}++)", meet=meet, loop=True) as below:
        read = f"far[{BASE} + {name}.place()]"
        how = w.pick(
            ("{t} += {x};", "{t} = {t} * 3 + {x};", "if ({x} > {t}) {t} ^= {x};", "{t} = max({t}, {x});")
        )
        w.line(below, how.format(t=take, x=read))
        if w.chance(3):
            w.line(below, f"if ({w.condition()}) {name}.next({step}, shape, strides);")
        elif kind == "Nested" and w.chance(2):
            w.line(below, f"{name}.next(shape, strides);")
        else:
            w.line(below, f"{name}.next({step}, shape, strides);")
        _check(w, below, (name, dims, start, step, r))
    w.line(place, f"u3 ^= uint({name}.place());")


def _start(w: Writer) -> str:
    return w.pick(("t", "lid.x", "lid.y", "i", "lid.y * S.x + lid.x", "group.x", "lane"))


def _step(w: Writer) -> str:
    return w.pick(("S.x", "S.y", "size", f"{w.choose(1, 9)}", "args[0]"))


def _check(w: Writer, place: Place, parts: tuple[str, int, str, str, str]) -> None:
    """After a step that everybody took, the place is known without walking."""
    name, dims, start, step, r = parts
    if w.lines[-1].strip() != f"{name}.next({step}, shape, strides);" or w.chance(2):
        return
    w.top("located", DIRECT)
    total = f"{start} + ({r} + 1) * {step}"
    w.line(place, f"if (long({name}.place()) != located({total}, {dims}, shape, strides)) claims[i] |= 1;")
