"""Run replays on the GPU of this machine, each in a process that can be given up, and say how each went."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import numpy as np

from conformance.nvidia.replay import Array, Replay, load

SECONDS = 20.0  # of one launch
PATIENCE = 60.0  # seconds until a process is given up
NEAR = 1e-4  # of functions of mathematics outside safe mode, as in tests/engine/fuzz
HALVES = 2.0**-10  # what the order of a sum of three halves is worth, where it is free


@dataclass(frozen=True)
class Verdict:
    suite: str
    name: str
    how: str  # "same", "near", "refused", "differs", "fault", "never ended", "error"
    words: str = ""
    seconds: float = 0.0  # with compiling

    @property
    def good(self) -> bool:
        return self.how in ("same", "near")


def judge(replay: Replay, guard: bool = True) -> Verdict:
    from metalloid.backends.cuda.program import CudaProgram
    from metalloid.errors import KernelFault, NotVectorised

    begin = time.perf_counter()

    def verdict(how: str, words: str = "") -> Verdict:
        return Verdict(replay.suite, replay.name, how, words[:400], time.perf_counter() - begin)

    launch, bound = replay.launch()
    try:
        CudaProgram(replay.ir, replay.signature).run(launch, guard, SECONDS)
    except NotVectorised as error:
        return verdict("refused", str(error))
    except KernelFault as error:
        return verdict("same" if replay.fault and replay.fault in str(error) else "fault", str(error))
    except Exception as error:
        return verdict("error", f"{type(error).__name__}: {error}")
    near = False
    for index, right in replay.expected.items():
        wrong = differing(right, bound[index], False)
        if wrong.size and index in replay.near:
            near, wrong = True, differing(right, bound[index], True, HALVES if replay.halves else 0.0)
        if wrong.size:
            few = wrong[:3]
            one, other = right.reshape(-1)[few], bound[index].reshape(-1)[few]
            return verdict("differs", f"buffer {index}, {wrong.size} at {few}: {one} expected, {other} found")
    return verdict("near" if near else "same")


def differing(one: Array, other: Array, near: bool, more: float = 0.0) -> Array:
    """Where two arrays are not the same; two NaNs are, whatever their bits. `more`: what else `near` allows."""
    if one.dtype.names:
        found = [differing(one[n], other[n], near, more) for n in one.dtype.names]
        return np.unique(np.concatenate(found) % len(one))
    one, other = one.reshape(-1), other.reshape(-1)
    same = one == other
    if one.dtype.kind == "f":
        same |= np.isnan(one) & np.isnan(other)
        if near:
            with np.errstate(invalid="ignore"):
                same |= np.abs(one - other) <= NEAR + (NEAR + more) * np.abs(one)
    return np.flatnonzero(~same)


def _packed(pipe: Connection, path: str) -> None:
    """Work on the replays of a file, by number."""
    replays = list(load(Path(path)))
    while (number := pipe.recv()) is not None:
        pipe.send(judge(replays[number]))


def _generated(pipe: Connection, _: str) -> None:
    """Work on programs by their seeds: make each, ask the oracle, run it."""
    from conformance.nvidia.fuzz import replays

    while (seed := pipe.recv()) is not None:
        made = next(iter(replays([seed])), None)
        pipe.send(judge(made) if made is not None else None)


class _Worker:
    """A process, and the number it works on."""

    def __init__(self, work: Callable[[Connection, str], None], path: str) -> None:
        self._work, self._path = work, path
        self.number, self.since = -1, 0.0
        self._begin()

    def _begin(self) -> None:
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process: Any = context.Process(target=self._work, args=(theirs, self._path), daemon=True)
        self.process.start()
        theirs.close()

    def give(self, number: int) -> None:
        self.number, self.since = number, time.monotonic()
        self.pipe.send(number)

    def again(self) -> None:
        self.process.kill()
        self.process.join()
        self._begin()


def packed(paths: Sequence[Path], jobs: int) -> Iterator[Verdict]:
    """Verdicts on the replays of files, as they come."""
    for path in paths:
        yield from _all(_packed, str(path), [replay.name for replay in load(path)], 0, jobs)


def generated(programs: int, first: int, jobs: int) -> Iterator[Verdict]:
    """Verdicts on programs that are made here, as they come."""
    yield from _all(_generated, "", [f"seed {first + n}" for n in range(programs)], first, jobs)


def _all(
    work: Callable[[Connection, str], None], path: str, names: Sequence[str], first: int, jobs: int
) -> Iterator[Verdict]:
    left = list(range(len(names)))[::-1]
    busy = [_Worker(work, path) for _ in range(min(jobs, len(names)))]
    for worker in busy:
        worker.give(first + left.pop())
    while busy:
        ready = wait([w.pipe for w in busy], 1.0)
        for worker in list(busy):
            if worker.pipe in ready:
                try:
                    verdict = worker.pipe.recv()
                except EOFError:
                    verdict = Verdict("fuzz", names[worker.number - first], "error", "the process died")
                    worker.again()
                if verdict is not None:
                    yield verdict
            elif time.monotonic() - worker.since > PATIENCE:
                yield Verdict("fuzz", names[worker.number - first], "never ended")
                worker.again()
            else:
                continue
            if left:
                worker.give(first + left.pop())
            else:
                busy.remove(worker)
                worker.process.kill()
