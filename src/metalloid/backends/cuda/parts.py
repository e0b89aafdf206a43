"""A launch in parts: threadgroups inside of a grid have no edges to look after, and get code of their own.

A kernel asks at every tile whether it is whole, and its proof for all threadgroups can take neither the question nor a
guard away. Cut along the last threadgroup of an axis, each part has its own proof. All parts are one launch: the number
of a block says which part it is of, and where it stands there. Those at the edges come first, for they take longer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metalloid.backends.cuda.variant import Variant


def positions(variants: Sequence[Variant]) -> list[str]:
    """LLVM IR of `mt_group`: where the (first) threadgroup of a block is along an axis."""
    lines = [
        *(f"declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.{a}()" for a in "xyz"),
        "define i32 @mt_group(i32 %axis) alwaysinline {",
        *(f"  %h{a} = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.{a}()" for a in "xyz"),
        "  %first = icmp eq i32 %axis, 0",
        "  %second = icmp eq i32 %axis, 1",
    ]
    if len(variants) == 1:
        return [*lines, *_placed(variants[0], 0, ("%hx", "%hy", "%hz")), "}"]
    start = 0
    for n, variant in enumerate(variants):
        x, y, z = variant.blocks()
        if n < len(variants) - 1:
            lines.append(f"  %in{n} = icmp ult i32 %hx, {start + x * y * z}")
            lines.append(f"  br i1 %in{n}, label %part{n}, label %not{n}")
            lines.append(f"part{n}:")
        lines += [
            f"  %at{n} = sub i32 %hx, {start}",
            f"  %x{n} = urem i32 %at{n}, {x}",
            f"  %row{n} = udiv i32 %at{n}, {x}",
            f"  %y{n} = urem i32 %row{n}, {y}",
            f"  %z{n} = udiv i32 %row{n}, {y}",
            *_placed(variant, n, (f"%x{n}", f"%y{n}", f"%z{n}")),
        ]
        lines += [f"not{n}:"] if n < len(variants) - 1 else []
        start += x * y * z
    return [*lines, "}"]


def _placed(variant: Variant, n: int, block: tuple[str, str, str]) -> Iterator[str]:
    """Blocks of several threadgroups that would reach behind the end begin earlier: they do again what their
    neighbours do, with the same results."""
    found = []
    for axis, at in zip("xyz", block, strict=True):
        many = variant.coarse["xyz".index(axis)]
        if many > 1:
            yield f"  %m{axis}{n} = mul i32 {at}, {many}"
            at = f"%m{axis}{n}"
        if variant.places is not None:
            first, end = variant.places["xyz".index(axis)]
            if (end - first) % many:
                yield f"  %s{axis}{n} = icmp ult i32 {at}, {end - first - many}"
                yield f"  %l{axis}{n} = select i1 %s{axis}{n}, i32 {at}, i32 {end - first - many}"
                at = f"%l{axis}{n}"
            if first:
                yield f"  %f{axis}{n} = add i32 {at}, {first}"
                at = f"%f{axis}{n}"
        found.append(at)
    yield f"  %yz{n} = select i1 %second, i32 {found[1]}, i32 {found[2]}"
    yield f"  %all{n} = select i1 %first, i32 {found[0]}, i32 %yz{n}"
    yield f"  ret i32 %all{n}"


def chosen(variants: Sequence[Variant]) -> list[str]:
    """LLVM IR that calls the code of a block's part."""
    if len(variants) == 1:
        return ["  call void @mt_part_0(ptr %launch)", "  ret void"]
    lines = ["  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()"]
    end = 0
    for n, variant in enumerate(variants):
        x, y, z = variant.blocks()
        end += x * y * z
        last = n == len(variants) - 1
        if not last:
            lines += [
                f"  %in{n} = icmp ult i32 %block, {end}",
                f"  br i1 %in{n}, label %part{n}, label %not{n}",
                f"part{n}:",
            ]
        lines += [f"  call void @mt_part_{n}(ptr %launch)", "  ret void"]
        lines += [] if last else [f"not{n}:"]
    return lines
