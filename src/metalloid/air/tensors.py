"""Tensor operations of a binary: AIR's names, and the C++ over the project's own header that does the same.

`__tensorops_impl_matmul2d_op_run_cooperative_f16_dv_f16_f32` multiplies halves in registers by halves in device memory
and adds to floats in registers. There are thousands of such names, so a kernel gets a library of just those it calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from metalloid.air.intrinsics import Row, symbol

_OPERATION = "__tensorops_impl_matmul2d_op_"
TYPES = {
    "f32": "float",
    "f16": "half",
    "b16": "bfloat",
    "i8": "int8_t",
    "u8": "uint8_t",
    "i32": "int",
}
_MEMORY = {"dv": "device", "tg": "threadgroup"}
_KIND = "|".join(TYPES)
_RUN = re.compile(rf"run_cooperative_(?:(dv|tg)_)?({_KIND})_(?:(dv|tg)_)?({_KIND})_({_KIND})")
_MOVE = re.compile(rf"cooperative_tensor_(load|store)_(dv|tg)_({_KIND})")
_VIEW = re.compile(r"air\.(init_strided|slice|get_extent|get_descriptor_size)\w*_tensor\b.*")
_SPACE = {"global": "device", "local": "threadgroup"}
_INDEX = {"i32": "int", "i64": "long"}
_WHICH = "int op, int m, int n, int k, uchar ta, uchar tb, uchar, int"
_PLACE = "at(op, m, n, k, ta, tb, threads)"

PROLOGUE = """
using namespace metal::__tensors;
#define mine __attribute__((opencl_private))
namespace {
// A tensor of a kernel's own: what AIR leaves open. The pointer is of the space that the operation names.
template <class P> struct view { P data; long origin; long numbers[2]; };
inline mine long* numbers(mine void* t) { return (mine long*)t + 2; }
inline __place at(int op, int m, int n, int k, bool ta, bool tb, int threads) {
  int rows = op == 1 ? (tb ? n : k) : op == 0 && ta ? k : m;
  int columns = op == 1 ? (tb ? k : n) : op == 0 ? (ta ? m : k) : n;
  return {rows, columns, threads > 32 ? threads / 32 : 1};
}
template <class P>
inline __in_memory<P> matrix(mine void* t, bool transposed) {
  mine view<P>* v = (mine view<P>*)t;
  mine long* n = numbers(t);
  return {v->data + v->origin, int(n[0]), int(n[1]), n[2], n[3], transposed};
}
inline int least(int a, int b) { return a < b ? a : b; }
template <class P>
inline void cut(__in_memory<P>& m, bool first, int k) { (first ? m.width : m.height) = k; }
template <class P>
inline void cut(__in_lanes<P>&, bool, int) {}
template <class P>
inline int summed(const __in_memory<P>& m, bool first) { return first ? m.width : m.height; }
template <class P>
inline int summed(const __in_lanes<P>& m, bool first) { return first ? m.place.columns : m.place.rows; }
struct descriptor { int m, n, k; bool ta, tb, relaxed; int mode; };
template <class T, class A, class B>
inline void product(const descriptor& d, A a, B b, mine void* c, int threads) {
  using sum = metal::conditional_t<metal::is_floating_point_v<T>, float, int>;
  int k = least(summed(a, !d.ta), summed(b, d.tb));
  if (d.k > 0) k = least(k, d.k);
  cut(a, !d.ta, k);
  cut(b, d.tb, k);
  bool held = A::registers || B::registers;
  __run((mine T*)c, a, b, at(2, d.m, d.n, d.k, false, false, threads), held ? d.k : k, d.mode == 1, (sum*)nullptr);
}
inline int bytes(int op, int left, int right, int result) {
  return ((op == 0 ? left : op == 1 ? right : result) & 255) / 8;
}
}
"""


def is_tensor_operation(name: str) -> bool:
    return row(name) is not None


def library_text(names: Iterable[str]) -> str:
    """The functions that stand for these operations."""
    rows = (row(name) for name in names)
    return PROLOGUE + "\n".join(made.text for made in rows if made is not None)


def row(name: str) -> Row | None:
    """The function that stands for an operation; None for one that is not known."""
    if name.startswith("air."):
        return _view(name) if _VIEW.fullmatch(name) else None
    if not name.startswith(_OPERATION):
        return None
    word = name.removeprefix(_OPERATION)
    if found := _RUN.fullmatch(word):
        return _run(name, *found.groups())
    if found := _MOVE.fullmatch(word):
        return _move(name, *found.groups())
    return _about(name, word.removeprefix("cooperative_tensor_"))


def _run(name: str, a_space: str | None, a: str, b_space: str | None, b: str, c: str) -> Row:
    parameters = ["mine descriptor* d"]
    operands = []
    for letter, space, kind in (("a", a_space, a), ("b", b_space, b)):
        parameters.append(f"mine void* {letter}" + (", int" if space else ""))
        if space:
            operands.append(f"matrix<{_MEMORY[space]} {TYPES[kind]}*>({letter}, d->t{letter})")
        else:
            place = f"at({'ab'.index(letter)}, d->m, d->n, d->k, d->ta, d->tb, 32)"
            operands.append(
                f"__in_lanes<mine {TYPES[kind]}*>{{(mine {TYPES[kind]}*){letter}, {place}, d->t{letter}}}"
            )
    body = f"descriptor known = *d; product<{TYPES[c]}>(known, {', '.join(operands)}, c, threads);"
    return Row(name, "void", ", ".join([*parameters, "mine void* c", "int threads"]), body)


def _move(name: str, direction: str, space: str, kind: str) -> Row:
    type = TYPES[kind]
    given = "int, int, " if direction == "load" else "int, "
    parameters = f"{_WHICH}, mine {type}* e, mine void* t, {given}int, int, int, int threads"
    view = f"matrix<{_MEMORY[space]} {type}*>(t, false)"
    if direction == "load":
        return Row(name, "void", parameters, f"__fill(({type}*)e, {view}, {_PLACE});")
    body = (
        f"auto view = {view}; __seat seat({_PLACE});"
        ' _Pragma("unroll") for (int i = 0; i < seat.place.capacity(); i++) {'
        " int x = seat.column(i), y = seat.row(i);"
        " if (seat.holds(i) && x < view.width && y < view.height)"
        " view.data[x * view.across + y * view.down] = e[i]; }"
    )
    return Row(name, "void", parameters, body)


def _about(name: str, word: str) -> Row | None:
    """What is asked about a cooperative tensor, without its elements."""
    types = "int left, int right, int result"
    # Parameters behind the descriptor, the result, and how it is found.
    known = {
        "init": (f"mine void*, {types}, int threads", "void", ""),
        "data_size": (
            f"{types}, int threads",
            "ulong",
            f"return {_PLACE}.capacity() * bytes(op, left, right, result);",
        ),
        "num_elements": ("mine void*, int, int, int threads", "ushort", f"return {_PLACE}.capacity();"),
        "get_element_pointer": (
            f"mine char* e, ushort i, {types}",
            "mine char*",
            "return e + (i == 65535 ? 0 : i) * bytes(op, left, right, result);",
        ),
        "is_valid_element": (
            f"mine void*, ushort i, int before, {types}",
            "bool",
            # Types are large numbers; that of threads stands in front of them, or behind.
            f"int threads = uint(before) >> 28 ? result : before; return __seat({_PLACE}).holds(i);",
        ),
        "get_coordinate": (
            f"mine void*, ushort i, mine int* to, int, int threads, {types}",
            "void",
            f"__seat seat({_PLACE}); to[0] = seat.column(i); to[1] = seat.row(i);",
        ),
    }
    if word not in known:
        return None
    parameters, result, body = known[word]
    return Row(name, result, f"{_WHICH}, {parameters}", body)


def _view(name: str) -> Row | None:
    """A tensor of a kernel's own: a pointer, an origin, extents and strides."""
    words = name.split(".")
    loop = '_Pragma("unroll") for (int r = 0; r < rank; r++)'
    if words[1] == "get_descriptor_size_tensor":
        return Row(name, "ushort", "ushort rank, ushort", "return 16 + 16 * rank;")
    if words[1] == "init_strided_private_tensor" and words[-1] in _SPACE and words[2] in _INDEX:
        space, index = _SPACE[words[-1]], _INDEX[words[2]]
        parameters = (
            f"mine void* t, ushort rank, {space} void* p, mine {index}* extents, mine {index}* strides, uchar"
        )
        body = (
            f"mine view<{space} void*>* v = (mine view<{space} void*>*)t; v->data = p; v->origin = 0;"
            f" {loop} {{ numbers(t)[r] = extents[r]; numbers(t)[rank + r] = strides[r]; }}"
        )
        return Row(name, "void", parameters, body)
    if words[1] == "get_extent_private_tensor" and words[-1] in _INDEX:
        return Row(name, _INDEX[words[-1]], "mine void* t, ushort, ushort r", "return numbers(t)[r];")
    if words[1] == "slice_private_tensor_private_tensor" and words[-1] in _INDEX:
        index = _INDEX[words[-1]]
        parameters = f"mine void* to, mine void* t, ushort rank, mine {index}* from, mine {index}* sizes"
        # The element's size is not known here, so where a part begins is kept beside the pointer.
        body = (
            "__builtin_memcpy(to, t, 8); long origin = ((mine long*)t)[1];"
            f" {loop} {{ long left = numbers(t)[r] - from[r], size = sizes[r]; size = size < left ? size : left;"
            " numbers(to)[r] = size > 0 ? size : 0; numbers(to)[rank + r] = numbers(t)[rank + r];"
            " origin += from[r] * numbers(t)[rank + r]; } ((mine long*)to)[1] = origin;"
        )
        return Row(name, "void", parameters, body)
    return None


__all__ = ["is_tensor_operation", "library_text", "row", "symbol"]
