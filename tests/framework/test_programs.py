"""Programs in C++ and Objective-C, built by `metalloid cc|c++` and run: the examples, and the runtime's own checks."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from metalloid.backends.toolchain import compiler
from metalloid.framework import build, driver, tools

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
EXAMPLES = ROOT / "examples/framework"
METAL_CPP = ROOT / ".conformance/mlx-metal-0.32.4/mlx/include/metal_cpp"

pytestmark = pytest.mark.skipif(
    not build.settings()["MT_PYTHON_LIBRARY"].startswith("/"), reason="this Python has no shared library"
)


@cache
def built(source: Path, folder: Path, kind: str = "cc", *flags: str) -> Path:
    """The program made of a source, with `-framework` flags as on a Mac."""
    made = folder / source.stem
    arguments = [*flags, str(source), "-framework", "Metal", "-framework", "Foundation", "-o", str(made)]
    done = subprocess.run([compiler(), kind, *driver.command(arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("programs")


def ran(program: Path, *arguments: str, **settings: str) -> str:
    return finished(program, *arguments, **settings).stdout


def finished(program: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **settings}
    done = subprocess.run(
        [str(program), *arguments], capture_output=True, text=True, timeout=200, env=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def test_the_runtime_foundation_blocks_and_queues_keep_their_promises(folder: Path) -> None:
    assert ran(built(HERE / "programs/foundation.m", folder)) == "49 checks, 0 failed\n"


def test_automatic_reference_counting_frees_everything_and_clears_weak_references(folder: Path) -> None:
    assert ran(built(HERE / "programs/arc.m", folder, "cc", "-fobjc-arc")) == "0 alive, weak gone\n"


def test_objective_c_reduces_with_function_constants_a_blit_and_events(folder: Path) -> None:
    lines = ran(built(EXAMPLES / "reduce.m", folder)).splitlines()
    assert lines == ["sum -2240 (-2240)", "largest square 2500 (2500)", "event 2, status 4"]


@pytest.mark.skipif(not METAL_CPP.is_dir(), reason="metal-cpp comes with `python -m conformance mlx`")
def test_metal_cpp_adds_vectors_and_its_handler_is_called(folder: Path) -> None:
    program = built(EXAMPLES / "vector_add.cpp", folder, "c++", "-std=c++17", f"-I{METAL_CPP}")
    assert ran(program, "100003") == "metalloid cpu: 100003 sums, 0 wrong; the handler was called\n"


def test_addresses_heaps_indirect_dispatches_and_offsets_lead_where_they_should(folder: Path) -> None:
    (folder / "one.metal").write_text("kernel void one(device int *out [[buffer(0)]]) { out[0] = 1; }\n")
    tools.xcrun(["metal", str(folder / "one.metal"), "-o", str(folder / "one.metallib")])
    lines = ran(built(HERE / "programs/addresses.m", folder), str(folder / "one.metallib")).splitlines()
    assert lines[:3] == ["URL: one", "data: one", "function: nil"]
    assert lines[3] == "305 72 0 49, private hidden, heap 512"


OBJECTS = """\
arguments: 24 bytes, aligned 8, 10 150
indirect: 0x4063 0x4063 of 4
indirect: 0x100c 0x100c of 4
binding: shape 0 2, access 0, 32 bytes, aligned 16, type 1, used 1; size at 0, type 34; origin at 16, type 5
binding: out 0 5, access 2, 8 bytes, aligned 8, type 19, used 1
binding: t 1 0, access 2, 4 bytes, aligned 4, type 3, used 1
constants: 1, factor 29 3
counters: timestamp, resolved 1, in order 1, without compiling 1
waited for 3: status 4, code 0
error: an event did not reach 4 within 20 ms
waited for 4: status 5, code 2
"""
AROUND = "in command buffer 'frame', encoder 'blur', group 'pass 2'"


def test_argument_encoders_indirect_commands_reflection_and_counters(folder: Path) -> None:
    assert ran(built(HERE / "programs/objects.m", folder)) == OBJECTS


def test_arguments_from_a_list_and_inside_others_and_vectors_as_constants(folder: Path) -> None:
    program = built(HERE / "programs/arguments.m", folder)
    assert ran(program) == "weight is 5; 32 and 32 bytes; inside 16\n321 331 341 351 -1 \n"
    done = subprocess.run([str(program), "wrong"], capture_output=True, text=True, timeout=200)
    assert done.returncode and "index(0) is no pointer to a struct." in done.stderr


def test_dispatches_that_come_again_read_what_the_first_read(folder: Path) -> None:
    """Code is chosen by what parameters hold, and runs with copies of them: not of those with something below. And by
    whether memory is bound twice: the last 20 launches read what they have counted, 21 to 40."""
    printed = ran(
        built(HERE / "programs/parameters.m", folder), METALLOID_BASELINE="0", METALLOID_GUARD="stop"
    )
    counted = "| 40 610 " * 4
    assert printed == f"0 200 200 200 200 0 | 40 40 0 | 40 40 0 | 40 40 0 | 40 40 0 {counted}\n"


LATE = """
import ctypes, gc
@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def late(_):
    print("collected", gc.collect() > 0, flush=True)
ctypes.CDLL(None).__cxa_atexit(late, None, None)
"""


def test_objects_may_be_let_go_when_the_program_ends(folder: Path, tmp_path: Path) -> None:
    """LLVM's own objects are gone by then: code that Python lets go so late must not be given back to them."""
    (tmp_path / "sitecustomize.py").write_text(
        LATE
    )  # registered before LLVM is loaded, so called behind its end
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    printed = ran(built(HERE / "programs/at_exit.m", folder), PYTHONPATH=path)
    assert printed == "16\ncollected True\n"


def test_labels_and_groups_of_a_program_are_in_its_findings(folder: Path) -> None:
    program = built(HERE / "programs/objects.m", folder)
    stopped = finished(program, "far", METALLOID_GUARD="stop").stdout
    assert "0 bytes past the end of 'weights' (64 bytes)" in stopped and AROUND in stopped
    checked = finished(program, "far", METALLOID_CHECK="1").stderr
    assert "4 bytes past 'scores' (64 bytes)" in checked and AROUND in checked


STEPS = """command buffer, encoder, push group, pipeline, bind, use, use, dispatch, pop group, end, commit, schedule,
signpost, bind, sizes, threadgroup memory, run, complete"""


def test_every_step_of_a_program_is_traced(folder: Path) -> None:
    told = finished(built(HERE / "programs/objects.m", folder), "far", METALLOID_TRACE="1").stderr
    lines = [line.removeprefix("metalloid: ") for line in told.splitlines() if line.startswith("metalloid: ")]
    kinds = list(STEPS.replace("\n", " ").split(", "))
    rest = iter(lines)
    assert all(any(line.startswith(kind + " ") for line in rest) for kind in kinds), told
    assert "metalloid: use compute encoder: buffer 'weights' of 64 bytes -> ok" in told
    assert "metalloid: commit command buffer 'frame': of command queue 'main' -> ok" in told


def test_traces_and_checks_reach_programs(folder: Path) -> None:
    program = built(HERE / "programs/errors.m", folder)
    assert "metalloid: run fine: pipeline fine" in finished(program, METALLOID_TRACE="1").stderr
    assert "16 times in all" in finished(program, METALLOID_CHECK="1").stderr


def test_four_threads_lose_no_handler_and_compute_right(folder: Path) -> None:
    words = ran(built(HERE / "programs/soak.m", folder, "cc", "-O1"), "2000")
    assert "1984 dispatches, 248 command buffers, 248 handlers, 0 wrong" in words


@pytest.mark.fuzz
def test_a_hundred_thousand_dispatches_leave_memory_flat(folder: Path) -> None:
    words = ran(built(HERE / "programs/soak.m", folder, "cc", "-O1"), "100000")
    assert "100000 dispatches, 12500 command buffers, 12500 handlers, 0 wrong" in words
    assert int(words.split(" KiB more")[0].rsplit(" ", 1)[1]) < 20_000, words


BAD = {
    "unknown_selector": "unrecognized selector sent to instance",
    "released": "-[_MTLBuffer length]: message sent to deallocated instance",
    "over_released": "-[_MTLBuffer release]: message sent to deallocated instance",
    "wrong_index": "index(31) must be < 31.",
    "wrong_offset": "offset(17) must be <= [buffer length](16).",
    "null_pipeline": "computePipelineState must not be nil.",
    "no_pipeline": "a compute pipeline state must be set before a dispatch.",
    "long_bytes": "length(5000) must be > 0 and <= 4096.",
    "long_buffer": "must not exceed",
    "empty_buffer": "Cannot create buffer of zero length.",
    "two_encoders": "A command encoder is already encoding to this command buffer",
    "open_encoder": "commit command buffer with uncommitted encoder",
    "commit_twice": "commit an already committed command buffer",
    "never_committed": "waitUntilCompleted called on a command buffer that has not been committed",
    "late_handler": "Completed handler provided after commit call",
    "never_ended": "Command encoder released without endEncoding",
    "large_threadgroup": "(2048) must be <= 1024. (device threadgroup size limit)",
    "blit_outside": "(17) must be <= [buffer length](16).",
    "array_outside": "index 1 beyond bounds [0 .. 0]",
    "nil_source": "source must not be nil.",
}


def test_mistakes_of_a_host_end_with_words(folder: Path) -> None:
    told = dict(
        line.split(": ", 1) for line in ran(built(HERE / "programs/bad_input.m", folder)).splitlines()
    )
    assert told.keys() == BAD.keys()
    for name, words in BAD.items():
        assert words in told[name] and "did not stop" not in told[name], told[name]


def test_what_fails_on_the_device_is_an_error_and_the_program_goes_on(folder: Path) -> None:
    done = finished(built(HERE / "programs/errors.m", folder), METALLOID_GUARD="stop")
    words = done.stdout
    assert "metalloid: k: the function constants (n) were given no value; they are 0" in done.stderr
    assert (
        "library: MTLLibraryErrorDomain 3: program_source:1:59: error: M602 'nothing' is not declared"
        in words
    )
    assert "pipeline: Function k cannot be used: its function constants (n) have no value." in words
    assert "partly: made" in words
    assert "be opened: No such file or directory." in words
    assert (
        "turn 0: status 5, handler saw 5, error MTLCommandBufferErrorDomain 3: program_source:1:88: M102"
        in words
    )
    assert "turn 1: status 4, handler saw 4" in words
    assert "led 4: status 4, (null)" in words
    assert (
        "led 5: status 5, program_source:1:125: M102 out-of-bounds write, 340 bytes past 'out' (64 bytes)"
        in words
    )
    assert words.endswith("out[15] = 15\n")


def test_a_kernel_that_leaves_its_buffer_goes_on_as_on_a_gpu_and_is_told(folder: Path) -> None:
    done = finished(built(HERE / "programs/errors.m", folder))
    assert "turn 0: status 4, handler saw 4" in done.stdout
    assert done.stderr.count("M102") == 2 and "program_source:1:88" in done.stderr


BROKEN = """
import os, sys
reads, writes = os.pipe()
os.close(reads)
try:
    os.write(writes, b"x")
except BrokenPipeError:
    print("Python heard of it", file=sys.stderr)
"""


def test_a_broken_pipe_in_python_does_not_end_the_program(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(BROKEN)
    paths = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = finished(built(HERE / "programs/addresses.m", folder), PYTHONPATH=paths)
    assert "Python heard of it" in done.stderr and done.stdout.startswith("305 72 0 49")


LOADS = """
import ctypes, sys, threading
host = ctypes.PyDLL(sys.argv[1])  # calls hold the interpreter's lock
values = (ctypes.c_float * 64)(*range(64))
print(host.squares(values, 64), values[3], values[63] == 63.0**4)
def more():
    mine = (ctypes.c_float * 64)(*range(64))
    results.append((host.squares(mine, 64), mine[2]))
results = []
threads = [threading.Thread(target=more) for _ in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
print(results)
"""


def test_a_python_program_that_holds_its_lock_waits_without_a_deadlock(folder: Path) -> None:
    library = built(HERE / "programs/extension.m", folder, "cc", "-shared")
    done = subprocess.run(
        [sys.executable, "-c", LOADS, str(library)], capture_output=True, text=True, timeout=100
    )
    assert done.stdout.splitlines() == ["21 81.0 True", str([(21, 16.0)] * 4)], done.stdout + done.stderr
