"""Steel's tiled attention: queries and keys in blocks, lengths past a block's edge, masks, sinks, kept sums."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from conformance.results.case import Case, Output, Size, Work, poisoned
from conformance.results.mlx.attention import MASKS, allowed, causal, mask_of, softmaxed
from conformance.results.mlx.templates import DTYPES, SHORT, TYPES, launch, longs, normal, strides, up

TILED = "steel/attn/kernels/steel_attention.h"
PARAMS = np.dtype(
    [(name, np.int32) for name in ("B", "H", "D", "qL", "kL", "gqa_factor")]
    + [("scale", np.float32)]
    + [(name, np.int32) for name in ("NQ", "NK", "NQ_aligned", "NK_aligned", "qL_rem", "kL_rem", "qL_off")]
    + [(name, np.int64, 3) for name in ("Q", "K", "V", "O")],
    align=True,
)


def _tiled(
    rng: np.random.Generator, size: Size, type: str, dim: int, value_dim: int, bk: int, wn: int, kind: str, rows: int,
    length: int, sinks: bool = False, lse: bool = False, bq: int = 32,
) -> Work:  # fmt: skip
    if size == "large":
        rows, length = rows + 64, length + 96
    batch, kv_heads, many = 1, 1, 2
    heads = kv_heads * many
    # Queries lie sequence first, as a transpose leaves them.
    q = np.swapaxes(normal(rng, type, batch, rows, heads, dim), 1, 2)
    k, v = (
        normal(rng, type, batch, kv_heads, length, dim),
        normal(rng, type, batch, kv_heads, length, value_dim),
    )
    out = poisoned((batch, heads, rows, value_dim), DTYPES[type])
    masked = kind in ("bool", "number")
    mask = mask_of(rng, kind, type, batch, heads, rows, length)
    sink, sums, scale = normal(rng, type, heads), poisoned((batch, heads, rows)), dim**-0.5
    fields = np.zeros((), PARAMS)
    numbers = {
        "B": batch, "H": heads, "D": dim, "qL": rows, "kL": length, "gqa_factor": many, "scale": scale,
        "NQ": up(rows, bq), "NK": up(length, bk), "NQ_aligned": rows // bq, "NK_aligned": length // bk,
        "qL_rem": rows % bq, "kL_rem": length % bk, "qL_off": length - rows,
        "Q": strides(q)[:3], "K": strides(k)[:3], "V": strides(v)[:3], "O": strides(out)[:3],
    }  # fmt: skip
    for name, number in numbers.items():
        fields[name] = number
    arguments: list[Any] = [q.swapaxes(1, 2), k, v, out, np.frombuffer(fields.tobytes(), np.uint8).copy()]
    arguments += [longs(*strides(mask)[:3]), mask] if masked else []
    arguments += [sink] if sinks else []
    arguments += [sums] if lse else []
    step = launch(
        TILED,
        "attention",
        (type, bq, bk, dim, value_dim, 4, wn, "bool" if kind != "number" else type, "float"),
        tuple(arguments),
        (32, 4, wn),
        (up(rows, bq), heads, batch),
        constants={
            200: rows % bq == 0,
            201: length % bk == 0,
            300: masked,
            301: kind == "causal",
            302: sinks,
            303: lse,
        },
    )
    seen = causal(rows, length) if kind == "causal" else mask if masked else None
    expected, totals = softmaxed(q, k, v, scale, seen, sink if sinks else None)
    outputs = [Output("O", out, expected, 2 * allowed(out))]
    if lse:
        outputs.append(Output("lse", sums, totals, 1e-5))
    return Work((step,), tuple(outputs))


# Head, values' head, keys in a block, SIMD-groups across a head; the mask; rows and keys; what else.
SPECIAL: dict[str, dict[str, Any]] = {
    "f32, keys of 96 and values of 64": {
        "type": "float", "dim": 96, "value_dim": 64, "bk": 32, "wn": 1, "kind": "bool", "rows": 5, "length": 40,
    },
    "f32, 256, halves of the head": {
        "type": "float", "dim": 256, "value_dim": 256, "bk": 16, "wn": 2, "kind": "", "rows": 9, "length": 19,
    },
    "f16, 256, halves of the head": {
        "type": "float16_t", "dim": 256, "value_dim": 256, "bk": 16, "wn": 2, "kind": "causal", "rows": 33,
        "length": 33,
    },
}  # fmt: skip
COMMON: dict[str, dict[str, Any]] = {
    "128": {
        "dim": 128,
        "value_dim": 128,
        "bk": 16,
        "wn": 1,
        "kind": "causal",
        "rows": 7,
        "length": 23,
        "sinks": True,
    },
    "80, sums kept": {
        "dim": 80,
        "value_dim": 80,
        "bk": 32,
        "wn": 1,
        "kind": "",
        "rows": 33,
        "length": 40,
        "lse": True,
    },
}


def cases() -> list[Case]:
    made: list[Case] = []

    def add(name: str, given: dict[str, Any]) -> None:
        made.append(Case("mlx", "attention", f"tiled {name}", partial(_tiled, **given)))

    for type in TYPES:
        for n, kind in enumerate(MASKS):
            given = {"type": type, "dim": 64, "value_dim": 64, "bk": 32, "wn": 1, "kind": kind}
            lengths = {"rows": (32, 35, 9, 40)[n], "length": (64, 47, 33, 40)[n]}
            add(f"{SHORT[type]}{', mask ' if kind else ''}{kind}, 64", given | lengths)
        for name, given in COMMON.items():
            add(f"{SHORT[type]}, {name}", given | {"type": type})
    for name, given in SPECIAL.items():
        add(name, given)
    return made
