"""Outputs behind pointers in argument buffers: they have names, and what is left out of them is told."""

from __future__ import annotations

from typing import Any

import numpy as np

import metalloid as mt
from metalloid.runtime.kernel import Kernel
from tests.checker.second_round.case import Case, floats, pair, twin

ARGUMENTS = """struct Args { device const float* x; device float* out; uint n; };
kernel void k(constant Args& args, uint i [[thread_position_in_grid]]) {
    {BODY}
}"""
COPY = ARGUMENTS.replace("{BODY}", "if (i < args.n) args.out[i] = 2 * args.x[i];")
EVEN = ARGUMENTS.replace("{BODY}", "if (i < args.n) args.out[{AT}] = args.x[i];")
RACE = ARGUMENTS.replace("{BODY}", "if (i < args.n) args.out[{AT}] = args.x[i];")
READ = ARGUMENTS.replace("{BODY}", "args.out[i] {SET} args.x[i];")
LAST = """struct Args { device const uint* x; device atomic_uint* last; };
kernel void k(constant Args& args, uint i [[thread_position_in_grid]]) {
    {WORD}(args.last, args.x[i], memory_order_relaxed);
}"""
TABLE = """struct Args { device const float* x; device float* out; uint rows; uint columns; };
kernel void k(constant Args& args, uint2 p [[thread_position_in_grid]]) {
    if (p.x < args.columns && p.y < args.rows) args.out[p.y * args.columns + p.x] = 2 * args.x[p.y];
}"""
NESTED = """struct Inner { device float* to; device const float* from; };
struct Outer { Inner pair[2]; uint n; };
kernel void k(constant Outer& job, uint i [[thread_position_in_grid]]) {
    job.pair[0].to[i] = job.pair[0].from[i];
    if (i < job.n) job.pair[1].to[i] = job.pair[1].from[i];
}"""


def given(out: Any, n: int, count: int = 64):
    return lambda: [{"x": floats(count), "out": out(), "n": n}]


def fresh(count: int = 64):
    return lambda: mt.device().empty(count, np.float32)


def zeros(count: int = 64):
    return lambda: np.zeros(count, np.float32)


def nested(n: int):
    def made():
        pairs = [{"to": fresh()(), "from": floats(64)} for _ in range(2)]
        return [{"pair": pairs, "n": n}]

    return made


def encoded(n: int, label: str = ""):
    """The same through an argument encoder."""

    def call(kernel: Kernel) -> None:
        device = kernel.device
        x, out = device.buffer(floats(64)), device.empty(64, np.float32)
        out.label = label
        encoder = kernel.argument_encoder(0)
        arguments = device.buffer(np.zeros(encoder.encoded_length, np.uint8))
        encoder.set_argument_buffer(arguments)
        encoder.set_buffer(x, index=0)
        encoder.set_buffer(out, index=1)
        encoder.set_constant(n, index=2)
        commands = device.queue().command_buffer()
        work = commands.compute_encoder()
        work.set_pipeline(kernel)
        work.set_buffer(arguments, index=0)
        work.use_resource(x)
        work.use_resource(out)
        work.dispatch_threads(64, 32)
        work.end_encoding()
        commands.commit()
        commands.wait_until_completed()

    return call


ALL = {"grid": 64}
FRESH = Case("half of what a pointer leads to", COPY, given(fresh(), 32), ALL, "M106", "'args.out'")
SHORT = Case(
    "a grid that covers half of what a pointer leads to",
    COPY,
    given(zeros(), 64),
    {"grid": 32},
    "M305",
    "'args.out'",
)
SILENT = Case(
    "nothing behind a pointer is written", COPY, given(fresh(), 0), ALL, "M106", "nothing was written"
)
INNER = Case("half of an array inside two structs", NESTED, nested(16), ALL, "M106", "'job.pair[1].to'")
OUTSIDE = Case("a write past what a pointer leads to", COPY, given(zeros(60), 64), ALL, "M102", "'args.out'")
ENCODED = Case(
    "half of an output in an argument buffer", COPY, find="M106", says="args.out", call=encoded(32)
)
LABELLED = Case(
    "half of an output with a label", COPY, find="M106", says="'result'", call=encoded(32, "result")
)
SECOND = Case(
    "every second element behind a pointer",
    EVEN.replace("{AT}", "2 * i"),
    given(fresh(), 32),
    {"grid": 32},
    "M106",
    "'args.out'",
)
SQUARES = Case(
    "threadgroups for threads behind a pointer",
    TABLE,
    lambda: [{"x": floats(20), "out": zeros(720)(), "rows": 20, "columns": 36}],
    {"grid": (5, 3), "threadgroup": (8, 8)},
    "M305",
    "lets 36 x 20 threads write, and 5 x 3 of them ran",
)
CASES = (
    FRESH,
    twin(FRESH, arguments=given(fresh(), 64)),
    SHORT,
    twin(SHORT, sizes=ALL),
    SILENT,
    twin(SILENT, arguments=given(fresh(), 64)),
    INNER,
    twin(INNER, arguments=nested(64)),
    OUTSIDE,
    twin(OUTSIDE, arguments=given(zeros(), 64)),
    ENCODED,
    twin(ENCODED, call=encoded(64)),
    LABELLED,
    twin(LABELLED, call=encoded(64, "result")),
    SECOND,
    twin(SECOND, text=EVEN.replace("{AT}", "i"), arguments=given(fresh(32), 32)),
    *pair(
        "two threads at one place behind a pointer",
        RACE.replace("{AT}", "i / 2"),
        RACE.replace("{AT}", "i"),
        given(zeros(), 64),
        ALL,
        "M202",
        "'args.out'",
    ),
    *pair(
        "a sum that starts from nothing behind a pointer",
        READ.replace("{SET}", "+="),
        READ.replace("{SET}", "="),
        given(fresh(), 64),
        ALL,
        "M105",
        "'args.out'",
    ),
    *pair(
        "the last one wins behind a pointer",
        LAST.replace("{WORD}", "atomic_store_explicit"),
        LAST.replace("{WORD}", "atomic_fetch_max_explicit"),
        lambda: [{"x": np.arange(128, dtype=np.uint32), "last": np.zeros(1, np.uint32)}],
        {"grid": 128, "threadgroup": 64},
        "M406",
        "'args.last'[0] is 127 when they run forward",
    ),
    SQUARES,
    twin(SQUARES, sizes={"threadgroups": (5, 3), "threadgroup": (8, 8)}),
    Case("a first part that an argument names", COPY, given(zeros(), 32), {"grid": 32}),
)
