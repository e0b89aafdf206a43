"""The drawing of a roofline: two limits in logarithmic axes, a dot for each kernel, its name at the dot.

Left of the ridge memory is the limit, right of it arithmetic; the height of a dot over its intensity is what it
reached, the line above it what it could.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, hypot, log10

from metalloid.measure.kernel import Measurement
from metalloid.measure.machine import Machine

_LEFT, _BOTTOM, _TOP, _RIGHT = 58, 50, 22, 16
_LETTER, _LINE = 7.5, 15.0  # of a label, about
_DOT = 6.0
_FAR = 14.0  # from here on a line leads from a label to its dot


@dataclass(frozen=True)
class Box:
    """What is taken on a drawing."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box) -> bool:
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )


class Chart:
    """Logarithmic axes over everything that is to be seen."""

    def __init__(self, machine: Machine, found: Sequence[Measurement], width: int, height: int) -> None:
        self.machine, self.found, self.width, self.height = machine, found, width, height
        self.ridge = machine.peak / machine.bandwidth
        across = [m.work.intensity for m in found] + [self.ridge / 8, self.ridge * 8]
        up = [m.rate for m in found] + [machine.peak * 1.5, machine.attainable(min(across)) / 2]
        self.low_x, self.high_x = floor(log10(min(across))), ceil(log10(max(across)))
        self.low_y, self.high_y = floor(log10(min(up))), ceil(log10(max(up)))

    def x(self, intensity: float) -> float:
        share = (log10(intensity) - self.low_x) / (self.high_x - self.low_x)
        return _LEFT + share * (self.width - _LEFT - _RIGHT)

    def y(self, rate: float) -> float:
        share = (log10(rate) - self.low_y) / (self.high_y - self.low_y)
        return self.height - _BOTTOM - share * (self.height - _BOTTOM - _TOP)

    def svg(self, name: str) -> str:
        parts = "".join((*self._axes(), *self._roof(), *self._kernels()))
        return (
            f'<svg class="roofline {name}" viewBox="0 0 {self.width} {self.height}" role="img"'
            f' aria-label="roofline">{parts}</svg>'
        )

    def _axes(self) -> Iterator[str]:
        low, right = self.height - _BOTTOM, self.width - _RIGHT
        for power in range(self.low_x, self.high_x + 1):
            x = self.x(10.0**power)
            yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{low}"/>'
            yield f'<text class="axis" x="{x:.1f}" y="{low + 18}" text-anchor="middle">{10.0**power:g}</text>'
        for power in range(self.low_y, self.high_y + 1):
            y, rate = self.y(10.0**power), f"{10.0 ** (power - 9):g}"
            yield f'<line class="grid" x1="{_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>'
            yield f'<text class="axis" x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{rate}</text>'
        middle = (_LEFT + right) / 2
        yield f'<text class="axis" x="{middle}" y="{self.height - 10}" text-anchor="middle">operations per byte</text>'
        yield f'<text class="axis" x="4" y="{_TOP - 8}">GFLOP/s</text>'

    def _roof(self) -> Iterator[str]:
        machine, floor_y = self.machine, self.height - _BOTTOM
        corners = [10.0**self.low_x, self.ridge, 10.0**self.high_x]
        points = [f"{self.x(i):.1f},{max(_TOP, self.y(machine.attainable(i))):.1f}" for i in corners]
        ends = f"{self.width - _RIGHT},{floor_y} {_LEFT},{floor_y}"
        yield f'<polygon class="under" points="{" ".join(points)} {ends}"/>'
        yield f'<polyline class="roof" points="{" ".join(points)}"/>'
        peak = f"{machine.peak / 1e9:,.0f} GFLOP/s"
        at = f'x="{self.width - _RIGHT - 4}" y="{self.y(machine.peak) - 7:.1f}" text-anchor="end"'
        yield f'<text class="limit" {at}>{peak}</text>'

    def _kernels(self) -> Iterator[str]:
        dots = [(self.x(m.work.intensity), self.y(m.rate)) for m in self.found]
        taken = [Box(x - _DOT, y - _DOT, x + _DOT, y + _DOT) for x, y in dots]
        labels: list[str] = []
        for m, (x, y) in sorted(zip(self.found, dots, strict=True), key=lambda pair: pair[1][1]):
            roof = self.y(self.machine.attainable(m.work.intensity))
            yield f'<line class="drop" x1="{x:.1f}" x2="{x:.1f}" y1="{roof:.1f}" y2="{y:.1f}"/>'
            label = f"{m.name} ({m.share(self.machine):.0%})"
            box = self._place(label, x, y, taken)
            taken.append(box)
            labels += _label(label, box, x, y)
        yield from labels
        for x, y in dots:
            yield f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="{_DOT - 1}"/>'

    def _place(self, label: str, x: float, y: float, taken: Iterable[Box]) -> Box:
        """The nearest free place to a dot: right, left, aslant, below, above, and then further and further away."""
        wide, blocked = len(label) * _LETTER, list(taken)
        for ring in range(24):
            off = 5.0 + 9.0 * ring
            for dx, dy in ((1, 0), (-1, 0), (1, 1), (1, -1), (-1, -1), (-1, 1), (0, 1), (0, -1)):
                left = x + (_DOT + off if dx > 0 else -_DOT - off - wide if dx < 0 else -wide / 2)
                middle = y + dy * (_DOT + off + _LINE / 2)
                box = Box(left, middle - _LINE / 2, left + wide, middle + _LINE / 2)
                inside = box.left >= _LEFT and box.right <= self.width - 2 and box.top >= 2
                if (
                    inside
                    and box.bottom < self.height - _BOTTOM
                    and not any(box.meets(other) for other in blocked)
                ):
                    return box
        return Box(x + _DOT, y, x + _DOT + wide, y + _LINE)


def _label(label: str, box: Box, x: float, y: float) -> Iterator[str]:
    near_x, near_y = min(max(x, box.left), box.right), min(max(y, box.top), box.bottom)
    if hypot(near_x - x, near_y - y) > _FAR:
        yield f'<line class="leader" x1="{x:.1f}" y1="{y:.1f}" x2="{near_x:.1f}" y2="{near_y:.1f}"/>'
    yield f'<text class="label" x="{box.left:.1f}" y="{box.bottom - 4:.1f}">{escape(label)}</text>'
