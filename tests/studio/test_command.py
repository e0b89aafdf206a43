"""`metalloid studio` and `metalloid lsp` as commands: they start, say where, and leave nothing behind."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from click.testing import CliRunner

from metalloid.cli import group

posix = pytest.mark.skipif(shutil.which("ps") is None, reason="there is no ps here, which lists processes")


def children(pid: int) -> list[int]:
    listed = subprocess.run(
        ["ps", "-o", "pid=,ppid=", "-A"], capture_output=True, text=True, check=True
    ).stdout
    pairs = (map(int, line.split()) for line in listed.splitlines())
    return [child for child, parent in pairs if parent == pid]


def runs(pid: int) -> bool:
    """Whether a process is there and does something; one that has ended may wait to be asked for its code."""
    shown = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True
    ).stdout.strip()
    return bool(shown) and not shown.startswith("Z")


@posix
def test_the_studio_says_where_it_is_and_leaves_nothing_behind(tmp_path: Path) -> None:
    file = tmp_path / "k.metal"
    file.write_text("kernel void k(device float* x [[buffer(0)]]) { x[0] = 1; }\n")
    command = [sys.executable, "-m", "metalloid", "studio", str(file), "--no-browser"]
    # A suite that was started in the background ignores it, and so would the studio.
    heard = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, heard)
    with process:
        assert process.stdout is not None
        said = re.fullmatch(
            r"metalloid studio: (http://127\.0\.0\.1:\d+/[\w-]{32}/)\n", process.stdout.readline()
        )
        assert said is not None
        with urllib.request.urlopen(said[1], timeout=30) as page:
            assert b"metalloid studio" in page.read()
        workers = children(process.pid)
        assert len(workers) == 2
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0
    assert not any(map(runs, workers))


@posix
def test_workers_end_when_the_studio_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "metalloid", "studio", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and "http://" in process.stdout.readline()
        while len(workers := children(process.pid)) < 2:
            time.sleep(0.05)
        process.kill()
    end = time.monotonic() + 30
    while any(map(runs, workers)):
        assert time.monotonic() < end, "a worker is still there"
        time.sleep(0.05)


def test_other_files_are_refused_in_a_sentence(tmp_path: Path) -> None:
    result = CliRunner().invoke(group, ("studio", str(tmp_path / "model.py")))
    assert result.exit_code == 1 and "is no Metal text" in str(result.exception)


def test_a_language_server_without_its_package_says_what_to_install() -> None:
    code = "import sys; sys.modules['pygls'] = None; sys.argv = ['metalloid', 'lsp']\n"
    code += "from metalloid.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2 and "pip install 'metalloid[lsp]'" in done.stderr
