"""`python -m tests.engine.fuzz --count 20000 --jobs 2 --seed 1`: many programs, the differences shrunk and printed.

Programs are numbered by seed; `--state FILE` remembers which were run, so that a run that was stopped goes on.
`--record` begins behind the programs of the repository's record (`runs.jsonl`) and adds this run to it.
A program that takes the process down with it is a difference like any other.
"""

from __future__ import annotations

import argparse
import multiprocessing as mp
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from pathlib import Path

from tests.engine.fuzz.record import Recorder

LONGEST = 180.0  # seconds for one program, and as many again to shrink it


def work(
    pipe: Connection, switches: dict[str, bool], without: list[str], shrinking: float, most: int
) -> None:
    """Answer seeds with what was found."""
    os.environ["METALLOID_CACHE_DIR"] = tempfile.mkdtemp(prefix="fuzz-")
    os.environ["METALLOID_CACHE_BYTES"] = "64M"
    from tests.engine.fuzz.compose import case
    from tests.engine.fuzz.report import told
    from tests.engine.fuzz.run import Refused, check, settings
    from tests.engine.fuzz.shrink import Check, apart, mistakes, shrink

    while True:
        seed, known, crashed = pipe.recv()
        one = case(seed, switches, without)
        looked: Check = apart if crashed else check
        try:
            if crashed:  # one setting at a time, to know which it was
                each = settings(one, most=most)
                found = next((f for s in each if (f := apart(one, [s])) is not None), None)
            else:
                found = check(one, settings(one, most=most))
        except Refused:
            pipe.send(("refused", ""))
            continue
        if found is None:
            pipe.send(("same", ""))
        elif found.kind in ("values", "claim") and one.threads == 1 and (wrong := mistakes(one)):
            pipe.send((f"not a program: {wrong}", f"not a program: {wrong}\n{told(found)}"))
        else:
            if shrinking and found.kind not in known:
                found = shrink(found, shrinking, looked)
            pipe.send((found.kind, told(found)))


class Worker:
    """A process that runs programs; another takes its place when it dies."""

    def __init__(self, arguments: tuple[dict[str, bool], list[str], float, int]) -> None:
        self.arguments, self.seed, self.since = arguments, -1, 0.0
        self.start()

    def start(self) -> None:
        self.pipe, theirs = mp.Pipe()
        self.process = mp.Process(target=work, args=(theirs, *self.arguments), daemon=False)
        self.process.start()
        theirs.close()

    def give(self, seed: int, known: set[str], crashed: bool = False) -> None:
        """Of `known` kinds of differences enough was printed."""
        self.seed, self.since, self.crashed = seed, time.monotonic(), crashed
        self.pipe.send((seed, known, crashed))

    def take(self) -> tuple[str, str] | None:
        """What it says; None where it died, and another looks at the program with care."""
        try:
            return self.pipe.recv()
        except EOFError:
            self.process.join()
            code = self.process.exitcode
            self.start()
            if not self.crashed and code != -signal.SIGKILL:
                self.give(self.seed, set(), crashed=True)
                return None
            return f"the process ended with {code}", f"seed {self.seed}: the process ended with {code}"

    def late(self, most: float) -> bool:
        if time.monotonic() - self.since < most:
            return False
        self.process.kill()
        return True


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.engine.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="the first program's")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--state", type=Path, help="a file that remembers how far a run came")
    parser.add_argument("--record", action="store_true", help="go on where the record ends, and add to it")
    parser.add_argument(
        "--settings", type=int, default=0, help="so many of each program's ways to run; 0: all"
    )
    parser.add_argument("--on", default="", help="switches of features, as leaving,skipping")
    parser.add_argument("--without", default="", help="features to leave out")
    parser.add_argument(
        "--shrink", type=float, default=120.0, help="seconds to shrink a program; 0 leaves it whole"
    )
    parser.add_argument("--each", type=int, default=3, help="programs to print of each kind of difference")
    parser.add_argument("--most", type=int, default=0, help="stop after so many differences")
    parser.add_argument("--show", action="store_true", help="print the program of --seed and end")
    options = parser.parse_args()
    switches = {name: True for name in options.on.split(",") if name}
    if options.show:
        from tests.engine.fuzz.compose import case

        one = case(options.seed, switches, options.without.split(","))
        print(f"// {one.features}, grid {one.grid}, threadgroup {one.group}, math {one.math}\n{one.text}")
        return 0
    return run(options, switches)


def run(options: argparse.Namespace, switches: dict[str, bool]) -> int:
    done: set[int] = set()
    if options.state:
        options.state.parent.mkdir(parents=True, exist_ok=True)
        options.state.touch()
        done = {int(word) for word in options.state.read_text().split()}
    recorder = Recorder(options.on, options.settings) if options.record else None
    if recorder is not None:
        options.seed = recorder.run.first
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    todo = iter([s for s in range(options.seed, options.seed + options.count) if s not in done])
    arguments = (switches, options.without.split(","), options.shrink, options.settings)
    workers = [Worker(arguments) for _ in range(options.jobs)]
    kinds: Counter[str] = Counter()
    try:
        _all(options, workers, todo, kinds, recorder)
    finally:
        if recorder is not None:
            recorder.write()
        for worker in workers:
            worker.process.kill()
    return int(any(k not in ("same", "refused") for k in kinds))


def _all(
    options: argparse.Namespace,
    workers: list[Worker],
    todo: Iterator[int],
    kinds: Counter[str],
    recorder: Recorder | None,
) -> None:
    """Give every worker programs until there are none."""
    started, busy = time.monotonic(), {}
    for worker in workers:
        if (seed := next(todo, None)) is not None:
            worker.give(seed, set())
            busy[worker.pipe] = worker
    while busy:
        ready = wait(list(busy), timeout=5)
        for worker in [busy[p] for p in ready]:
            answer = worker.take()
            busy = {w.pipe: w for w in workers if w.pipe in busy or w is worker}
            if answer is None:
                continue
            kind, text = answer
            kinds[kind] += 1
            if recorder is not None:
                recorder.done(worker.seed, kind)
            if text and kinds[kind] <= options.each:
                print(f"{'=' * 100}\n{text}", flush=True)
            if options.state:
                with options.state.open("a") as file:
                    file.write(f"{worker.seed}\n")
            wrong = sum(n for k, n in kinds.items() if k not in ("same", "refused"))
            seed = next(todo, None) if not options.most or wrong < options.most else None
            if seed is None:
                busy.pop(worker.pipe, None)
            else:
                worker.give(seed, {k for k, n in kinds.items() if n >= options.each})
            if sum(kinds.values()) % 100 == 0:
                _progress(kinds, started)
                if recorder is not None:
                    recorder.write()
        for worker in busy.values():
            worker.late(LONGEST + options.shrink)
    _progress(kinds, started)


def _progress(kinds: Counter[str], started: float) -> None:
    count = sum(kinds.values())
    each = (time.monotonic() - started) / max(1, count)
    print(f"{count} programs, {each:.2f} s each: {dict(kinds)}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
