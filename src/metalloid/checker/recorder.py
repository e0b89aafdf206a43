"""Write down every checked launch of this process, for the command that started it and reads it (elsewhere.py).

At a proper end it adds what only all launches together show, and writes the page where one was asked for.
"""

from __future__ import annotations

import os
import pickle
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING

from metalloid import config
from metalloid.checker import engines
from metalloid.checker.checked_launches import Checked, Copied
from metalloid.checker.choosing import chosen
from metalloid.checker.elsewhere import PAGE, SUFFIX, WISH, Ended, KernelFacts, Launched, Wish
from metalloid.checker.report import Report
from metalloid.checker.watch import listen
from metalloid.findings import Finding
from metalloid.guest import at_exit
from metalloid.source import Binary

if TYPE_CHECKING:
    from metalloid.runtime.kernel_code import KernelCode

MOST_COPIED = 256 << 20  # bytes of memory that a page may show; a program frees its buffers before it ends


def record() -> None:
    """From now on write down every launch of this process, in the folder that METALLOID_CHECK_TO names."""
    folder = Path(config.check_to())
    try:
        wish: Wish = pickle.loads((folder / WISH).read_bytes())
    except OSError:  # whoever asked has gone
        return
    if wish.choice.timeout is not None:
        engines.SECONDS = wish.choice.timeout
    recorder = _Recorder(folder, wish)
    listen(recorder.add)
    at_exit(recorder.end)


class _Recorder:
    def __init__(self, folder: Path, wish: Wish) -> None:
        self._wish, self._process, self._report = wish, os.getpid(), Report()
        self._path = folder / f"{self._process}{SUFFIX}"
        self._file: IO[bytes] = self._path.open("ab")
        self._kernels: dict[int, tuple[int, KernelCode]] = {}  # kept, so that no other takes its address
        self._copied = 0

    def add(self, item: Checked | Finding) -> None:
        if os.getpid() != self._process:  # a copy of the program, made by fork
            return
        if isinstance(item, Finding):
            self._report.add(item)
            self._write(item)
            return
        kernel = item.case.kernel
        known = id(kernel) in self._kernels
        number = self._kernels.setdefault(id(kernel), (len(self._kernels), kernel))[0]
        light = item.light()
        self._write(
            Launched(
                number,
                None if known else _facts(kernel),
                light.launch,
                replace(light.observation, records=()),
                item.findings,
                item.seconds,
            )
        )
        self._report.add(self._owned(item))

    def _owned(self, item: Checked) -> Checked:
        """A launch with its own copy of the memory, as long as there is not too much of it."""
        size = sum(memoryview(memory).nbytes for memory in item.launch.buffers.values())
        if self._copied + size > MOST_COPIED:
            return item.light()
        self._copied += size
        buffers = {index: Copied.of(memory) for index, memory in item.launch.buffers.items()}
        case = replace(item.case, launch=replace(item.launch, buffers=buffers, resources=()))
        return replace(item, case=case)

    def end(self) -> None:
        if os.getpid() != self._process:
            return
        completed = {
            (n, k)
            for n, launch in enumerate(self._report.launches)
            for k, finding in enumerate(launch.findings)
            if self._report.completed(launch, finding)
        }
        self._write(Ended(frozenset(completed)))
        if self._wish.page:
            page = chosen(self._report, self._wish.choice)[0].html()
            self._path.with_suffix(PAGE).write_text(page, encoding="utf-8")

    def _write(self, frame: object) -> None:
        self._file.write(pickle.dumps(frame))
        self._file.flush()


def _facts(kernel: KernelCode) -> KernelFacts:
    source = replace(kernel.source, defines=dict(kernel.source.defines), quoted=dict(kernel.source.quoted))
    if isinstance(source, Binary):
        source = replace(source, data=b"")
    return KernelFacts(kernel.name, source, kernel.signature, tuple(kernel.parameters))
