"""docs/pictures: the pages of metalloid as a browser shows them, light and dark.

    python -m docsite.pictures

Needs Chromium or Chrome on PATH. Pages are made by the commands a reader would type, in examples/.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
REVERSE = "check reverse.metal --grid 512 --threadgroup 64 --arg x=arange:512:float32 --out y:512:float32"
# Name of the picture, the command that makes the page (with --html FILE), width and height in pixels.
PAGES = {
    "check": (["-m", "metalloid", *REVERSE.split()], (1000, 1045)),
    "compare": (["compare_transpose.py"], (1000, 1270)),
}


def browser() -> str:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        sys.exit(f"none of {', '.join(BROWSERS)} is on PATH")
    return found


def shot(page: Path, picture: Path, size: tuple[int, int], dark: bool = False) -> None:
    """What a browser shows of a page, from its top."""
    with tempfile.TemporaryDirectory() as profile:
        options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
        ]
        options += [f"--user-data-dir={profile}", f"--window-size={size[0]},{size[1]}"]
        options += [f"--blink-settings=preferredColorScheme={0 if dark else 1}", f"--screenshot={picture}"]
        subprocess.run([browser(), *options, page.as_uri()], check=True, capture_output=True, timeout=120)


def page(name: str, folder: Path) -> Path:
    """The page of this name, made anew."""
    words, _ = PAGES[name]
    path = folder / f"{name}.html"
    paths = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, *words, "--html", str(path.relative_to(folder))]
    shutil.copytree(ROOT / "examples", folder, dirs_exist_ok=True)
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True
    )
    if not path.is_file():
        sys.exit(done.stdout + done.stderr)
    return path


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, (_, size) in PAGES.items():
            made = page(name, Path(folder))
            for dark in (False, True):
                picture = PICTURES / f"{name}{'-dark' if dark else ''}.png"
                shot(made, picture, size, dark)
                print(f"wrote {picture}, {picture.stat().st_size} bytes")


if __name__ == "__main__":
    main()
