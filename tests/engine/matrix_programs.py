"""Programs of simdgroup_matrix operations made at random: loads of every kind, products alone and in blocks, elements
changed by hand, barriers, loops and branches around them."""

from __future__ import annotations

import random

KINDS = "load load pitch turned lane product product block block block barrier change store barrier loop loop branch"
HEAD = """kernel void k(device const float* a, device float* out, constant uint& n,
    uint t [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
    uint g [[simdgroup_index_in_threadgroup]]) {
    threadgroup float s[256];
    for (uint x = t; x < 256; x += 64) s[x] = a[x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const short row = (lane / 4 & 4) + (lane / 2 & 3), column = (lane / 2 & 4) + (lane % 2) * 2;
    simdgroup_float8x8 m[8];
    for (int x = 0; x < 8; ++x) m[x] = make_filled_simdgroup_matrix<float, 8>(0.25f * (x + g));
"""
TAIL = "for (int x = 0; x < 8; ++x) simdgroup_store(m[x], out + (g * 8 + x) * 64, 8); }"
BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup);"


def program(seed: int) -> str:
    """A kernel for two SIMD-groups; `n` says how often loops go round."""
    return HEAD + _body(random.Random(seed), 0, 6, 16) + TAIL


def _body(r: random.Random, level: int, least: int, most: int) -> str:
    return "\n".join(_statement(r, level) for _ in range(r.randrange(least, most)))


def _statement(r: random.Random, level: int) -> str:
    kind, x, y, z, c = r.choice(KINDS.split()), *(f"m[{r.randrange(8)}]" for _ in range(4))
    at, start = 64 * r.randrange(4), r.randrange(1 << 20)
    match kind:
        case "load":
            return f"simdgroup_load({x}, s + {at}, 8);"
        case "pitch":
            return f"simdgroup_load({x}, s + {start % 64}, {r.choice([8, 16, 24])});"
        case "turned":
            return f"simdgroup_load({x}, s + {at}, 8, 0, true);"
        case "lane":
            cell = r.choice(["row * 8 + column + e", "(column + e) * 8 + row"])
            return f"for (int e = 0; e < 2; ++e) {x}.thread_elements()[e] = s[{at} + {cell}];"
        case "product":
            return f"simdgroup_multiply_accumulate({x}, {y}, {z}, {r.choice([x, c])});"
        case "block":
            a, b, c0, c1 = r.sample([0, 2, 4, 6], 4)
            sums = [
                f"m[{c + j}], m[{a + i}], m[{b + j}], m[{c + j}]"
                for i, c in enumerate((c0, c1))
                for j in (0, 1)
            ]
            return "\n".join(f"simdgroup_multiply_accumulate({one});" for one in sums)
        case "change":
            return f"{x}.thread_elements()[{start % 2}] *= 0.5f;"
        case "store":
            return f"{BARRIER} if (g == 0) simdgroup_store({x}, s + {at}, 8); {BARRIER}"
        case "loop" if level < 2:
            name = f"k{start}"
            return (
                f"for (uint {name} = 0; {name} < n + {start % 2}; ++{name}) {{ {_body(r, level + 1, 2, 7)} }}"
            )
        case "branch" if level < 2:
            return f"if (n > {start % 4}) {{ {_body(r, level + 1, 2, 7)} }}"
    return BARRIER
