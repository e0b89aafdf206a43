"""Whether a change leaves generated code as it was: `python -m conformance.identical main` compares with a commit.

The vector code of 200 kernels (ours, ggml's, MLX's, those inside Python packages), for three sizes of threadgroup
(`--checked`: also under observation), each as a SHA-256. The commit's tree makes its own, with its own tools, so that
moves and renames do not matter. No machine code is made, nothing runs. `--save FILE` keeps the hashes, `--against FILE`
compares with those.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from conformance import ggml, inline_kernels, mlx_headers
from conformance.cases import Case
from conformance.packages import STORE
from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.pipeline import vector_code, vector_stage
from metalloid.compile import scalar
from metalloid.errors import MetalloidError
from metalloid.frontend import find_kernels
from metalloid.source import Source
from metalloid.transforms.canonicalize import canonical
from metalloid.transforms.instrument import Options

ROOT = Path(__file__).resolve().parent.parent
SIZES = ((32, 1, 1), (64, 4, 1), (256, 1, 1))
CHECKED = (64, 4, 1)
Hashes = dict[str, str]  # what was made -> its SHA-256, or the sentence that refused it


def library() -> list[Case]:
    """The kernels of metalloid's own library."""
    return _files("library", ROOT / "src/metalloid/kernels", math="safe")


def bench() -> list[Case]:
    return _files("bench", ROOT / "bench")


def _files(suite: str, folder: Path, **settings: str) -> list[Case]:
    found = []
    for path in sorted(folder.glob("*.metal")):
        source = Source.from_file(path, **settings)  # type: ignore[arg-type]
        found += [Case(suite, path.name, k.name, ((source, k.name),)) for k in find_kernels(source)]
    return found


SUITES: tuple[Callable[[], list[Case]], ...] = (
    bench,
    library,
    ggml.cases,
    mlx_headers.cases,
    inline_kernels.cases,
)


def corpus(count: int) -> list[Case]:
    """About `count` kernels: as many of each suite as of the others, and what a small suite lacks from the next."""
    chosen: list[Case] = []
    for n, suite in enumerate(SUITES):
        cases = [
            c
            for c in suite()
            if not c.refused and not c.invalid and c.attempts and all(a[1] for a in c.attempts)
        ]
        wanted = min(len(cases), (count - len(chosen)) // (len(SUITES) - n))
        chosen += [cases[k * len(cases) // wanted] for k in range(wanted)]
    return chosen


def hashes(case: Case, checked: bool) -> Hashes:
    """The hash of each text that is made of a kernel."""
    return {f"{case.name} {what}": _hash(make) for what, make in _texts(case, checked)}


def _texts(case: Case, checked: bool) -> Iterator[tuple[str, Callable[[], str]]]:
    def watched() -> str:
        variant = (CHECKED, False, False, True, False, None)
        return vector_code(canonical(_ir(case, True)), variant, 0, codegen.host(), Options()).text

    for size in SIZES:
        yield str(size), lambda size=size: vector_stage(_ir(case), size)  # type: ignore[misc]
    if checked:
        yield f"{CHECKED} checked", watched


def _ir(case: Case, checked: bool = False) -> str:
    """Scalar IR of the first attempt that compiles."""
    for source, name in case.attempts[:-1]:
        with contextlib.suppress(MetalloidError):
            return scalar(source, name, case.constants, checked)[0]
    source, name = case.attempts[-1]
    return scalar(source, name, case.constants, checked)[0]


def _hash(make: Callable[[], str]) -> str:
    try:
        return hashlib.sha256(make().encode()).hexdigest()
    except MetalloidError as error:
        return f"{type(error).__name__}: {error}".split("\n")[0]


_cases: list[Case] = []  # filled before the processes fork: a source need not travel


def _work(index: int, checked: bool) -> Hashes:
    return hashes(_cases[index], checked)


def made(cases: list[Case], checked: bool, jobs: int) -> Hashes:
    _cases[:] = cases
    found: Hashes = {}
    with ProcessPoolExecutor(jobs, mp_context=get_context("fork")) as pool:
        for part in pool.map(_work, range(len(cases)), [checked] * len(cases)):
            for name, value in part.items():
                print(f"{value[:64]}  {name}", flush=True)
            found.update(part)
    return found


def of_commit(commit: str, options: list[str]) -> Hashes:
    """What the tree of a commit makes, in a folder of its own."""
    with TemporaryDirectory() as folder:
        tree, file = Path(folder) / "tree", Path(folder) / "hashes.json"
        packed = subprocess.run(
            ["git", "archive", commit, "src", "conformance", "bench"], cwd=ROOT, capture_output=True
        )
        if packed.returncode:
            raise click.ClickException(f"git knows no tree of '{commit}': {packed.stderr.decode().strip()}")
        with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
            archive.extractall(tree, filter="data")
        (tree / STORE.name).symlink_to(STORE)
        command = [sys.executable, "-m", "conformance.identical", "--save", str(file), *options]
        places = os.pathsep.join([str(tree / "src"), str(tree)])
        subprocess.run(command, cwd=tree, env=os.environ | {"PYTHONPATH": places}, check=True)
        return Hashes(json.loads(file.read_text(encoding="utf-8")))


def differences(before: Hashes, now: Hashes) -> list[str]:
    """Names under which two runs do not hold the same."""
    return sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))


@click.command(help=__doc__)
@click.argument("commit", required=False)
@click.option("--save", type=click.Path(dir_okay=False, path_type=Path), help="Write the hashes here.")
@click.option(
    "--against", type=click.Path(exists=True, path_type=Path), help="Compare with hashes written before."
)
@click.option("--count", default=200, help="About how many kernels.")
@click.option("--checked", is_flag=True, help="Also the code of checked runs.")
@click.option("--jobs", default=1, help="Processes.")
def main(
    commit: str | None, save: Path | None, against: Path | None, count: int, checked: bool, jobs: int
) -> None:
    options = ["--count", str(count), "--jobs", str(jobs), *["--checked"] * checked]
    before = of_commit(commit, options) if commit else None
    if against:
        before = Hashes(json.loads(against.read_text(encoding="utf-8")))
    cases = corpus(count)
    found = made(cases, checked, jobs)
    if save:
        save.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    refused = sum(":" in value for value in found.values())
    suites = ", ".join(f"{number} of {suite}" for suite, number in Counter(c.suite for c in cases).items())
    print(f"{len(cases)} kernels ({suites}): {len(found)} texts, {refused} of them refused in a sentence")
    if before is not None:
        differing = differences(before, found)
        print("\n".join(["identical"] if not differing else [f"differs: {name}" for name in differing]))
        sys.exit(bool(differing))


if __name__ == "__main__":
    main()
