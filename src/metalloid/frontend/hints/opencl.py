"""OpenCL spellings, and names of Metal's own without what they need; read as those of `cuda` are."""

from __future__ import annotations

import re

POSITIONS = {
    "get_global_id": "thread_position_in_grid",
    "get_local_id": "thread_position_in_threadgroup",
    "get_group_id": "threadgroup_position_in_grid",
    "get_local_size": "threads_per_threadgroup",
    "get_global_size": "threads_per_grid",
    "get_num_groups": "threadgroups_per_grid",
}
_WORDS = {
    "CLK_LOCAL_MEM_FENCE": "`mem_flags::mem_threadgroup`",
    "CLK_GLOBAL_MEM_FENCE": "`mem_flags::mem_device`",
    "barrier": "`threadgroup_barrier(mem_flags::mem_threadgroup)`",
    "mem_fence": "`atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst)`",
    "__kernel": "`kernel`",
    "__global": "`device`",
    "__local": "`threadgroup`",
    "__private": "`thread`",
    "__constant": "`constant`",
    "mad": "`fma(a, b, c)`",
    "atomic_inc": "`atomic_fetch_add_explicit(p, 1, memory_order_relaxed)`",
    "atomic_dec": "`atomic_fetch_sub_explicit(p, 1, memory_order_relaxed)`",
    "atomic_xchg": "`atomic_exchange_explicit(p, value, memory_order_relaxed)`",
    "atomic_cmpxchg": "`atomic_compare_exchange_weak_explicit(p, &expected, value, memory_order_relaxed, "
    "memory_order_relaxed)`, which returns whether it stored",
}
_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"atomic_(add|sub|min|max|and|or|xor)"), r"`atomic_fetch_\1_explicit(p, value, memory_order_relaxed)`"),
    (re.compile(r"convert_(u?(?:char|short|int|long)|float|half)([234]?)(?:_rte|_rtz)?"), r"`\1\2(x)`"),
    (re.compile(r"(?:native|half)_(exp|exp2|exp10|log|log2|log10|sin|cos|tan|sqrt|rsqrt)"), r"`fast::\1(x)`"),
    (re.compile(r"as_(u?(?:char|short|int|long)|float|half)([234]?)"), r"`as_type<\1\2>(x)`"),
    (re.compile(r"v(?:load|store)([234])"), r"a pointer to `packed_float\1`, or to another such type, and an index"),
)  # fmt: skip
# Metal's own, with what is missing.
_MORE = {
    "mem_none": "`mem_flags::mem_none`",
    "mem_device": "`mem_flags::mem_device`",
    "mem_threadgroup": "`mem_flags::mem_threadgroup`",
    "mem_threadgroup_and_device": "`mem_flags::mem_threadgroup | mem_flags::mem_device`",
    "bfloat16_t": "`bfloat`; `bfloat16_t` is MLX's name for it",
    "rand": "no random numbers: pass a seed, and mix it with the thread's position",
}
_EXPLICIT = re.compile(
    r"(atomic_(?:load|store|exchange|compare_exchange_weak|fetch_(?:add|sub|min|max|and|or|xor)))"
)
_STRONG = re.compile(r"atomic_compare_exchange_strong(?:_explicit)?")


def metal_for(word: str) -> str:
    """What Metal has in place of a word of OpenCL; empty where it is none."""
    if word in POSITIONS:
        return f"`{POSITIONS[word]}`"
    found = next((m.expand(metal) for p, metal in _PATTERNS if (m := p.fullmatch(word))), "")
    return _WORDS.get(word, found)


def completed(word: str) -> str:
    """What to write for a name that is almost Metal's; empty where it is not."""
    if match := _EXPLICIT.fullmatch(word):
        return f"`{match[1]}_explicit`, with `memory_order_relaxed` as its last argument"
    if _STRONG.fullmatch(word):
        return "`atomic_compare_exchange_weak_explicit` in a loop: it may fail where nothing has changed"
    return _MORE.get(word, "")
