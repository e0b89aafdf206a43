"""The name somebody probably meant."""

from __future__ import annotations

from collections.abc import Iterable

_LONGEST = 100


def nearest(word: str, names: Iterable[str]) -> str:
    """The closest of `names`, or nothing where none is close enough to be worth a suggestion."""
    limit = min(3, max(1, len(word) // 3)) if len(word) > 2 else 0
    best: tuple[int, bool, bool, str] | None = None
    letters = set(word)
    for name in names:
        if name == word or abs(len(name) - len(word)) > max(limit, 1) or len(name) > _LONGEST:
            continue
        if name.lower().replace("_", "") == word.lower().replace("_", ""):
            distance = 0  # only case and underscores differ
        else:
            unlike = len(letters ^ set(name)) > 2 * limit  # cheap, and rules out nearly all names
            distance = limit + 1 if unlike else edits(word, name, limit)
            if distance > limit:
                continue
        extended = word.startswith(name) or name.startswith(word)
        rank = (distance, not extended, name[:1] != word[:1], name)
        if best is None or rank < best:
            best = rank
    return best[3] if best else ""


def edits(a: str, b: str, limit: int = 1 << 30) -> int:
    """Insertions, deletions, changes and swaps of neighbours that turn one word into the other.

    Where there are more than `limit`, some number above it.
    """
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        above, before, row = before, row, [i]
        for j, y in enumerate(b, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, above[j - 2] + 1)
            row.append(cost)
        if min(row) > limit:
            return limit + 1
    return row[-1]
