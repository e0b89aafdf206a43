"""What is installed beside metalloid costs nothing where it is not used."""

from __future__ import annotations

import subprocess
import sys


def test_importing_metalloid_loads_neither_the_studio_nor_its_packages() -> None:
    code = "import sys, metalloid, metalloid.cli; print(*sys.modules)"
    loaded = set(
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.split()
    )
    assert "metalloid.cli" in loaded
    heavy = {
        "metalloid.studio",
        "metalloid.lsp",
        "http.server",
        "pygls",
        "lsprotocol",
        "playwright",
        "webbrowser",
    }
    assert not heavy & loaded
