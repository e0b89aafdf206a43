"""What the page can ask for, by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from metalloid.errors import MetalloidError
from metalloid.studio import gallery
from metalloid.studio.workers import Data, Superseded, Worker
from metalloid.version import __version__

NAME = "kernel.metal"  # what a text without a file is called
START = "M201"  # the lesson that a studio without a file begins with


class Studio:
    """One open studio: a file, perhaps, and the processes that work for the page."""

    def __init__(self, file: Path | None = None) -> None:
        self.file = file
        self._seen = self._stamp()
        self._typing, self._running = Worker(), Worker()
        self._calls: dict[str, Callable[[Data], Data]] = {
            "open": self._open,
            "save": self._save,
            "gallery": lambda asked: {"lessons": gallery.lessons()},
            "lesson": _lesson,
            "rule": lambda asked: {"page": gallery.explained(str(asked.get("rule", "")))},
            "diagnose": lambda asked: self._typing.job("diagnose", self._placed(asked), last_only=True),
            "launch": lambda asked: self._running.job("launch", self._placed(asked)),
            "stage": lambda asked: self._running.job("stage", self._placed(asked)),
            "measure": lambda asked: self._running.job("measure", self._placed(asked)),
        }

    def answer(self, name: str, asked: Data) -> Data | None:
        """None where there is no such call."""
        call = self._calls.get(name)
        if call is None:
            return None
        try:
            return call(asked)
        except Superseded:
            return {"superseded": True}
        except MetalloidError as error:
            return {"error": str(error)}

    def warm(self) -> None:
        """Start the processes before they are asked for anything."""
        for worker in (self._typing, self._running):
            worker.start()

    def end(self) -> None:
        for worker in (self._typing, self._running):
            worker.close()

    def _placed(self, asked: Data) -> Data:
        """What is asked, with the name and the folder that only this side knows."""
        given = {name: value for name, value in asked.items() if name not in ("name", "folder")}
        if not isinstance(given.get("text"), str):
            raise MetalloidError("a text is missing")
        lesson = bool(given.pop("lesson", False))
        file = None if lesson else self.file
        folder = str(file.resolve().parent) if file else ""
        return {**given, "name": file.name if file else NAME, "folder": folder}

    def _open(self, asked: Data) -> Data:
        """What the page shows first."""
        from metalloid.studio.jobs.stage import names

        known: dict[str, Any] = {"stages": names(), "version": __version__}
        if self.file is None:
            return {**known, "name": "", "lesson": START}
        text = self.file.read_text(encoding="utf-8", errors="replace") if self.file.exists() else ""
        self._seen = self._stamp()
        return {**known, "name": self.file.name, "path": str(self.file), "text": text}

    def _save(self, asked: Data) -> Data:
        """Write the file that the studio was opened with, and no other."""
        if self.file is None:
            raise MetalloidError("no file is open; start `metalloid studio FILE` to have one to save to")
        if self._stamp() != self._seen and not asked.get("over"):
            return {"changed": True, "error": f"{self.file.name} was changed by another program"}
        try:
            self.file.write_text(str(asked["text"]), encoding="utf-8")
        except OSError as problem:
            raise MetalloidError(f"{self.file} cannot be written: {problem.strerror}") from problem
        self._seen = self._stamp()
        return {"saved": True}

    def _stamp(self) -> tuple[int, int]:
        if self.file is None or not self.file.exists():
            return 0, 0
        state = self.file.stat()
        return state.st_mtime_ns, state.st_size


def _lesson(asked: Data) -> Data:
    found = gallery.lesson(str(asked.get("rule", "")))
    if found is None:
        raise MetalloidError("there is no such lesson")
    return found.data()
