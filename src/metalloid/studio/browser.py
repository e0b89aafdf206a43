"""A browser that is driven: for the tests of the studio and for pictures of it. Playwright is in the extra `dev`."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from metalloid.studio.server import Server

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WIDE, NARROW = (1440, 900), (420, 900)


def missing() -> str:
    """Why no browser can be driven here; "" where one can."""
    if find_spec("playwright") is None:
        return "playwright is not installed: pip install 'metalloid[dev]'"
    return "" if program() else "no Chromium is installed: apt-get install chromium"


def program() -> str:
    return next((found for name in _NAMES if (found := shutil.which(name))), "")


@contextmanager
def browser() -> Iterator[Any]:
    """Chromium, ended at the end. Its own sandbox needs rights that containers do not give; it sees one local page."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        made = driver.chromium.launch(executable_path=program(), args=["--no-sandbox"])
        try:
            yield made
        finally:
            made.close()


@contextmanager
def served(file: Path | None = None) -> Iterator[Server]:
    """A studio in a thread of this process."""
    server = Server(file)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    server.studio.warm()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def opened(made: Any, address: str, theme: str, size: tuple[int, int]) -> Any:
    """A page of the studio, light or dark."""
    width, height = size
    page = made.new_page(viewport={"width": width, "height": height}, color_scheme=theme)
    page.goto(address)
    return page
