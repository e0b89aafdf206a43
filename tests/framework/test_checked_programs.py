"""`metalloid check bin/tool` and `metalloid run bin/tool`: programs that `metalloid cc` built, in their own process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from metalloid.framework import build
from tests.framework.test_programs import HERE, built

pytestmark = pytest.mark.skipif(
    not build.settings()["MT_PYTHON_LIBRARY"].startswith("/"), reason="this Python has no shared library"
)


@pytest.fixture(scope="module")
def tool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(HERE / "programs/launches.m", tmp_path_factory.mktemp("programs"))


def said(*words: object, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "metalloid", *map(str, words)],
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=200,
    )


def test_a_program_is_run_with_its_own_words_and_exit_code(tool: Path, tmp_path: Path) -> None:
    done = said("run", tool, "halves", "5", folder=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (5, "", "")


def test_launches_without_a_mistake_are_clean_also_where_each_writes_a_half(
    tool: Path, tmp_path: Path
) -> None:
    """The race is ignored by a comment in the kernel's text."""
    done = said("check", tool, "halves", "race", folder=tmp_path)
    assert done.stdout == "done\nno findings (3 launches, 128 threads checked)\n"
    assert done.returncode == 0 and "by a comment in the source" in done.stderr


def test_findings_are_told_and_fail_and_the_page_shows_who_wrote_what(tool: Path, tmp_path: Path) -> None:
    done = said("check", tool, "halves", "outside", "--html", "page.html", folder=tmp_path)
    assert done.returncode == 1
    assert "program_source:3:5: M102 out-of-bounds write, 4 bytes past 'out' (256 bytes)" in done.stdout
    assert "(3 launches, 96 threads checked)" in done.stdout
    page = (tmp_path / "page.html").read_text()
    assert "M102" in page and 'class="map"' in page and "out[from + i] = i;" in page


def test_json_is_alone_on_stdout_and_a_baseline_accepts_what_is_known(tool: Path, tmp_path: Path) -> None:
    known = ("--sarif", "a.sarif", "--write-baseline", "known.json")
    done = said("check", "--format", "json", *known, tool, "outside", folder=tmp_path)
    found = json.loads(done.stdout)
    assert [f["rule"] for f in found["findings"]] == ["M102"] and done.stderr.startswith("done")
    assert found["launches"][0]["kernel"] == "fill" and found["launches"][0]["threads"] == 32
    sarif = json.loads((tmp_path / "a.sarif").read_text())
    assert sarif["runs"][0]["results"][0]["ruleId"] == "M102" and done.returncode == 0
    done = said("check", "--baseline", "known.json", tool, "outside", folder=tmp_path)
    assert done.returncode == 0 and "1 in the baseline" in done.stderr


def test_a_program_that_crashes_or_leaves_at_once_has_told_what_was_found(tool: Path, tmp_path: Path) -> None:
    done = said("check", tool, "outside", "abort", folder=tmp_path)
    assert done.returncode == 1 and "M102" in done.stdout and "was ended by SIGABRT" in done.stderr
    done = said("check", "--ignore", "M102", tool, "outside", "leave", folder=tmp_path)
    assert done.returncode == 7 and "(1 launch, 32 threads checked)" in done.stdout


def test_a_program_may_be_required_to_launch_something(tool: Path, tmp_path: Path) -> None:
    done = said("check", "--require-launches", tool, "0", folder=tmp_path)
    assert done.returncode == 1 and "no kernel was launched" in done.stderr


def test_a_script_of_a_shell_may_start_several(tool: Path, tmp_path: Path) -> None:
    script = tmp_path / "both.sh"
    script.write_text(f"#!/bin/sh\n{tool} halves && {tool} outside\n")
    script.chmod(0o755)
    done = said("check", "--html", "page.html", script, folder=tmp_path)
    assert done.returncode == 1 and "1 finding (3 launches, 96 threads checked)" in done.stdout
    assert "M102" in (tmp_path / "page.html").read_text()


def test_programs_that_are_not_linked_to_the_framework_get_one_sentence(tmp_path: Path) -> None:
    other = shutil.which("true")
    done = said("check", other, folder=tmp_path)
    assert done.returncode == 2 and done.stdout == ""
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert "is not linked to metalloid's Metal" in line and "metalloid cc or c++" in line
    (tmp_path / "mac").write_bytes(b"\xcf\xfa\xed\xfe" + bytes(60))
    done = said("run", "mac", folder=tmp_path)
    assert done.returncode == 2 and "mac is a program for another system" in done.stderr


PART = """
#import <Foundation/Foundation.h>
#import <Metal/Metal.h>
void fill_part(void) {
    id<MTLDevice> device = MTLCreateSystemDefaultDevice();
    id<MTLLibrary> library = [device newLibraryWithSource:
        @"kernel void fill(device float* x, uint i [[thread_position_in_grid]]) { x[i + 1] = 1; }"
        options:nil error:nil];
    id<MTLComputePipelineState> state =
        [device newComputePipelineStateWithFunction:[library newFunctionWithName:@"fill"] error:nil];
    id<MTLCommandBuffer> commands = [[device newCommandQueue] commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
    [encoder setComputePipelineState:state];
    [encoder setBuffer:[device newBufferWithLength:128 options:0] offset:0 atIndex:0];
    [encoder dispatchThreads:MTLSizeMake(32, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
    [encoder endEncoding];
    [commands commit];
    [commands waitUntilCompleted];
}
"""
LOADER = """
#include <dlfcn.h>
int main(int argc, char **argv) {
    void *part = dlopen(argv[1], RTLD_NOW);
    if (!part) return 9;
    ((void (*)(void))dlsym(part, "fill_part"))();
    return 0;
}
"""


def test_a_program_that_loads_its_metal_part_later_is_checked(tmp_path: Path) -> None:
    (tmp_path / "part.m").write_text(PART)
    (tmp_path / "loader.c").write_text(LOADER)
    frameworks = ("-framework", "Metal", "-framework", "Foundation")
    for words in (
        ("-shared", "-fPIC", "part.m", *frameworks, "-o", "a part.so"),
        ("loader.c", "-ldl", "-o", "a tool"),
    ):
        done = said("cc", *words, folder=tmp_path)
        assert done.returncode == 0, done.stderr
    done = said("check", "a tool", "./a part.so", folder=tmp_path)
    assert done.returncode == 1 and "M102" in done.stdout, done.stdout + done.stderr
    assert "1 finding (1 launch, 32 threads checked)" in done.stdout
