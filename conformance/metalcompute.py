"""`python -m conformance metalcompute`: the examples of the metalcompute sdist, run by `metalloid run`.

`metalcompute-measure` is written to keep a GPU busy (36 million million operations); a copy has smaller sizes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import click
import numpy as np
from rich.console import Console

from conformance.packages import Package, fetch

SDIST = Package("metalcompute", "0.2.9", ("--no-binary", "metalcompute"), ("examples/",))


@dataclass(frozen=True)
class Example:
    name: str
    arguments: tuple[str, ...] = ()
    stdin: bytes = b""
    smaller: tuple[tuple[str, str], ...] = ()  # sizes that are replaced in a copy
    picture: bool = False


EXAMPLES = (
    Example("metalcompute-pipe", ("out[id] = in[id] - 32",), b"metal"),
    Example("metalcompute-mandelbrot", ("-width", "128", "-height", "128", "-iters", "128"), picture=True),
    Example("metalcompute-raymarch", ("-width", "64", "-height", "64"), picture=True),
    Example(
        "metalcompute-measure",
        smaller=(
            ("count = 8*1024*64", "count = 256"),
            ("steps = 700", "steps = 7"),
            ("dim = 1024*16", "dim = 256"),
        ),
    ),
)


@click.command(help=__doc__)
def main() -> None:
    console, failed = Console(), 0
    for example in EXAMPLES:
        wrong = run(example)
        failed += bool(wrong) and not wrong.startswith("skipped")
        console.print(f"{example.name}: {wrong or 'right'}", highlight=False)
    sys.exit(bool(failed))


def run(example: Example) -> str:
    """What is wrong; empty where nothing is."""
    if example.picture and find_spec("PIL") is None:
        return "skipped: it needs pillow"
    script = next(fetch(SDIST).rglob(example.name))
    with tempfile.TemporaryDirectory() as folder:
        picture = Path(folder) / "picture.png"
        copy = Path(folder) / example.name
        copy.write_text(_smaller(script.read_text(), example))
        out = ("-outname", str(picture)) if example.picture else ()
        command = [sys.executable, "-m", "metalloid", "run", str(copy), *example.arguments, *out]
        done = subprocess.run(command, input=example.stdin, capture_output=True, env=os.environ, timeout=900)
        if done.returncode:
            return done.stderr.decode()[-300:]
        if example.stdin:
            return "" if done.stdout == example.stdin.upper() else f"it wrote {done.stdout!r}"
        return _looks(example, picture) if example.picture else ""


def _smaller(text: str, example: Example) -> str:
    for found, instead in example.smaller:
        if found not in text:
            raise SystemExit(f"[conformance] {example.name} has no {found!r}")
        text = text.replace(found, instead)
    return text


def _looks(example: Example, picture: Path) -> str:
    """Mandelbrot's set is black where the iteration in double precision does not end; the other one has colours."""
    from PIL import Image

    pixels = np.asarray(Image.open(picture).convert("RGB"))
    if example.name != "metalcompute-mandelbrot":
        return "" if len(np.unique(pixels.reshape(-1, 3), axis=0)) > 100 else "all of it looks alike"
    side = pixels.shape[0]
    y, x = np.mgrid[0:side, 0:side] / side
    c = 2.5 * (x - 0.5) - 0.7 + 2.5j * (0.5 - y)
    z = c.copy()
    for _ in range(128):
        z = np.where(np.abs(z) < 4, z * z + c, z)
    same = ((pixels.sum(axis=2) == 0) == (np.abs(z) < 2)).mean()
    return "" if same > 0.98 else f"{same:.1%} of the pixels are as computed in double precision"
