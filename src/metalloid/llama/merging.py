"""Join the symbols of a word, the best pair first, until no pair can be joined.

Byte-pair encoding ranks pairs by when they were learnt; sentencepiece by the score of what they become. Both
are the same walk over a list of neighbours with a heap of candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush

Rank = Callable[[str, str], float | None]  # the least is joined first; None: never


def merged(symbols: Sequence[str], rank: Rank) -> list[str]:
    """What is left of the symbols. Among equals the leftmost pair goes first."""
    texts = list(symbols)
    count = len(texts)
    before, after = list(range(-1, count - 1)), list(range(1, count + 1))
    heap: list[tuple[float, int, str, str]] = []

    def offer(left: int, right: int) -> None:
        if left >= 0 and right < count:
            found = rank(texts[left], texts[right])
            if found is not None:
                heappush(heap, (found, left, texts[left], texts[right]))

    for left in range(count - 1):
        offer(left, left + 1)
    while heap:
        _, left, first, second = heappop(heap)
        right = after[left]
        if right >= count or texts[left] != first or texts[right] != second:
            continue  # one of them has been joined since
        texts[left], texts[right] = first + second, ""
        after[left] = after[right]
        if after[right] < count:
            before[after[right]] = left
        offer(before[left], left)
        offer(left, after[left])
    return [text for text in texts if text]
