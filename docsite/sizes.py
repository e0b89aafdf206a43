"""What an installation takes on disk: metalloid and everything that it needs, without extras.

    python -m docsite.sizes

Measured in the environment it runs in; metalloid itself by the files of its package.
"""

from __future__ import annotations

import re
from importlib.metadata import distribution, requires
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "metalloid"


def needed(name: str, seen: dict[str, int]) -> dict[str, int]:
    """Bytes of every distribution that this one needs, itself included."""
    for line in requires(name) or ():
        match = re.match(r"[\w.-]+", line)
        if match is None or "extra ==" in line or match[0].lower() in seen or "python_version <" in line:
            continue
        seen[match[0].lower()] = _bytes(match[0])
        needed(match[0], seen)
    return seen


def _bytes(name: str) -> int:
    files = [Path(str(f.locate())) for f in distribution(name).files or ()]
    return sum(f.stat().st_size for f in files if f.is_file() and f.suffix != ".pyc")


def sizes() -> dict[str, int]:
    own = sum(f.stat().st_size for f in PACKAGE.rglob("*") if f.is_file() and f.suffix != ".pyc")
    return {"metalloid": own, **dict(sorted(needed("metalloid", {}).items(), key=lambda item: -item[1]))}


if __name__ == "__main__":
    found = sizes()
    for package, size in found.items():
        print(f"{package:<20} {size / 1e6:7.1f} MB")
    print(f"{'in all':<20} {sum(found.values()) / 1e6:7.1f} MB")
