"""Scripts as people write them for PyObjC run as they are, and check their own results."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from metalloid.cli.program import Program

SCRIPTS = sorted((Path(__file__).parents[2] / "examples" / "pyobjc").glob("*.py"))


def test_there_are_enough_of_them():
    assert len(SCRIPTS) >= 10


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_runs(script, capsys):
    code = Program(str(script)).run()
    told = capsys.readouterr()
    assert code == 0, told.err
    assert told.out and "Metal" not in sys.modules, "the modules are there for the program only"


def test_from_the_command_line(tmp_path):
    ran = subprocess.run(
        [sys.executable, "-m", "metalloid", "run", str(SCRIPTS[-1])],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert ran.returncode == 0 and ran.stdout == "added 10000 numbers on metalloid cpu\n", ran.stderr


WRONG = """import Metal
device = Metal.MTLCreateSystemDefaultDevice()
library, _ = device.newLibraryWithSource_options_error_(
    "kernel void wrong(device int* x, uint i [[thread_position_in_grid]]) { x[i] = x[i + 1]; }", None, None)
pipeline, _ = device.newComputePipelineStateWithFunction_error_(library.newFunctionWithName_("wrong"), None)
commands = device.newCommandQueue().commandBuffer()
commands.setLabel_("frame")
encoder = commands.computeCommandEncoder()
encoder.setComputePipelineState_(pipeline)
encoder.setBuffer_offset_atIndex_(device.newBufferWithLength_options_(16, 0), 0, 0)
encoder.dispatchThreads_threadsPerThreadgroup_(Metal.MTLSizeMake(4, 1, 1), Metal.MTLSizeMake(4, 1, 1))
encoder.endEncoding()
commands.commit()
commands.waitUntilCompleted()
"""


def test_launches_of_a_script_are_checked(tmp_path):
    (tmp_path / "wrong.py").write_text(WRONG)
    ran = subprocess.run(
        [sys.executable, "-m", "metalloid", "check", "wrong.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "M101" in ran.stdout and "in command buffer 'frame'" in ran.stdout
