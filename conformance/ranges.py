"""Places in a list, in few words: 0-3,7."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def ranges(places: Iterable[int]) -> str:
    """Places in rising order."""
    found: list[list[int]] = []
    for place in places:
        if found and found[-1][1] == place - 1:
            found[-1][1] = place
        else:
            found.append([place, place])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in found)


def places(text: str) -> Iterator[int]:
    for part in text.split(",") if text else ():
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)
