"""The text of the editor as a Source: called what the page calls it, with the includes of its own folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from metalloid.source import Source


def source_of(data: dict[str, Any]) -> Source:
    folder = str(data.get("folder") or "")
    return Source(
        str(data["text"]).replace("\r\n", "\n"),
        name=str(data.get("name") or "kernel.metal"),
        directory=Path(folder) if folder else None,
    )
