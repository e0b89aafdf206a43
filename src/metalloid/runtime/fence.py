"""Fences order the encoders of one queue. Work of a queue runs in order here, so a fence only has to be used right."""

from __future__ import annotations

from metalloid.runtime.places import warn_once


class Fence:
    """`encoder.update_fence(fence)` in one encoder, `encoder.wait_for_fence(fence)` in a later one."""

    def __init__(self, label: str = "") -> None:
        self.label = label
        self.updates = 0  # encoders that updated it, and have run

    def update(self) -> None:
        self.updates += 1

    def wait(self) -> None:
        """A GPU would wait for nothing: what was meant to come first has not been encoded before."""
        if not self.updates:
            warn_once(
                "M308",
                "fence",
                f"{self} is waited for before any encoder has updated it.",
                "Commit the encoder that calls update_fence first; across queues, use a shared event.",
            )

    def __repr__(self) -> str:
        return f"<fence{f' {self.label!r}' if self.label else ''}, {self.updates} updates>"
