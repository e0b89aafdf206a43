"""What the function of a gang begins with: its first thread, and which of its lanes are threads that run."""

from __future__ import annotations

from metalloid.analysis.lane_layout import LaneLayout
from metalloid.backends.cpu.lower.output import Output
from metalloid.targets import TargetInfo

BITS = 64


def first_thread(lanes: LaneLayout) -> list[str]:
    """The number of the first lane's thread."""
    if not lanes.slides:
        return [f"  %first = mul i32 %j, {lanes.step}"]
    return [f"  %before = mul i32 %j, {lanes.row}", "  %first = add i32 %before, %at"]


def present(lanes: LaneLayout, target: TargetInfo) -> list[str]:
    """The lanes that are threads: those before the end of the row, or of the threadgroup; or as many as was told."""
    w = lanes.width
    if lanes.short and target.mask_bits and w <= BITS:
        return [
            "  %left = zext i32 %lanes to i64",
            f"  %left.off = sub i64 {BITS}, %left",
            "  %left.bits = lshr i64 -1, %left.off",
            *([f"  %left.low = trunc i64 %left.bits to i{w}"] if w < BITS else []),
            f"  %present = bitcast i{w} {'%left.low' if w < BITS else '%left.bits'} to <{w} x i1>",
        ]
    left = "%lanes" if lanes.short else lanes.row
    lane = "<" + ", ".join(f"i32 {n}" for n in range(w)) + ">"
    return [
        f"  %left = sub i32 {left}, 0" if lanes.rows else "  %left = sub i32 %count, %first",
        f"  %left.0 = insertelement <{w} x i32> poison, i32 %left, i64 0",
        f"  %left.v = shufflevector <{w} x i32> %left.0, <{w} x i32> poison, <{w} x i32> zeroinitializer",
        f"  %present = icmp ult <{w} x i32> {lane}, %left.v",
    ]


def remaining(out: Output) -> list[str]:
    """The lanes whose threads have not returned."""
    return [
        f"  %left.at = getelementptr i8, ptr %kept, i64 {out.remaining}",
        f"  %left.bits = load i{out.lanes.width}, ptr %left.at, align 8",
    ]
