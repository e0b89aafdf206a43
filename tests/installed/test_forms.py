"""MLX to the end, programs in C, lint's forms, what counts, and hints: from an empty environment with the wheel."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.installed

TRANSFORMS = '''import mlx.core as mx

kernel = mx.fast.metal_kernel(name="square", input_names=["x"], output_names=["out"], source="""
    uint i = thread_position_in_grid.x;
    if (i == 0) metal::os_log_default.log("first %f", x[0]);
    out[i] = x[i] * x[i];
""", header="#include <metal_logging>")


def squared(x):
    return kernel(inputs=[x], output_shapes=[x.shape], output_dtypes=[x.dtype], grid=(x.size, 1, 1),
                  threadgroup=(4, 1, 1))[0]


square = mx.custom_function(squared)


@square.vjp
def square_vjp(primals, cotangent, output):
    return 2 * primals * cotangent


x = mx.arange(1.0, 5.0)
print("compile", mx.compile(square)(x).tolist())
print("vmap", mx.vmap(squared)(mx.stack([x, x + 1])).tolist())
print("checkpoint", mx.grad(lambda v: mx.checkpoint(square)(v).sum())(x).tolist())
try:
    mx.export_function("square.mlxfn", square, x)
    print("export", mx.import_function("square.mlxfn")(x)[0].tolist())
except Exception as error:
    print("export", type(error).__name__, str(error).splitlines()[0])
side = mx.new_stream(mx.default_device())
with mx.stream(side):
    y = square(x)
print("stream", square(y).tolist())
'''
TOOL = """#import <Foundation/Foundation.h>
#import <Metal/Metal.h>
int main(int count, char **words) {
    id<MTLDevice> device = MTLCreateSystemDefaultDevice();
    NSString *text = @"kernel void one(device float *out [[buffer(0)]], uint i [[thread_position_in_grid]])"
                      "{ out[i] = 1; }";
    id<MTLLibrary> library = [device newLibraryWithSource:text options:nil error:nil];
    id<MTLComputePipelineState> pipeline =
        [device newComputePipelineStateWithFunction:[library newFunctionWithName:@"one"] error:nil];
    id<MTLBuffer> out = [device newBufferWithLength:64 options:0];
    id<MTLCommandBuffer> commands = [[device newCommandQueue] commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
    [encoder setComputePipelineState:pipeline];
    [encoder setBuffer:out offset:0 atIndex:0];
    [encoder dispatchThreads:MTLSizeMake(atoi(words[1]), 1, 1) threadsPerThreadgroup:MTLSizeMake(16, 1, 1)];
    [encoder endEncoding];
    [commands commit];
    [commands waitUntilCompleted];
    printf("%g\\n", ((float *)out.contents)[15]);
    return atoi(words[2]);
}
"""
LINTED = '''import Metal
import metalloid as mt

device = mt.device()
library = device.library("""
kernel void f(device float* x) { x[0] = missing_one; }
""")
mt.metal_kernel("y[i] = missing_two;", y=[1.0, 2.0])
TEXT = "kernel void g(device float* x) { x[0] = missing_three; }"
Metal.MTLCreateSystemDefaultDevice().newLibraryWithSource_options_error_(TEXT, None, None)
'''
LOOP = "kernel void spin(device volatile int* x) { while (x[0] == 0) { } }\n"
RACE = """kernel void next(device float* x, uint i [[thread_position_in_threadgroup]]) {
    x[i] = x[(i + 1) % 64];COMMENT
}
"""
CHECK = "metalloid check race.metal --grid 64 --threadgroup 64 --arg x=ones:64:float32"
HINTS = {
    "atomic_fetch_add_explicit(&out[0], 1.0f, memory_order_relaxed);": "atomic_outputs=True",
    "out[0] = T(x[0]);": "template=[('T', dtype)]",
    "out[thread_postion_in_grid.x] = x[0];": "did you mean 'thread_position_in_grid'?",
    "kernel void f(device float* out) { out[0] = 1; }": "a whole kernel, and the body of one is expected",
    "kernels/add.metal": "pathlib.Path('kernels/add.metal').read_text()",
    "out[thread_position_in_grid.x] = 1;": "make it larger: output_shapes",
}
HINT = """import mlx.core as mx
k = mx.fast.metal_kernel(name="k", input_names=["x"], output_names=["out"], source={source!r})
mx.eval(k(inputs=[mx.ones(8)], output_shapes=[(4,)], output_dtypes=[mx.float32], grid=(8, 1, 1), {size}=(8, 1, 1)))
"""


def test_kernels_inside_mlx_transforms_streams_and_logs(say, place):
    (place / "transforms.py").write_text(TRANSFORMS)
    done = say("metalloid run transforms.py")
    assert done.returncode == 0, done.stderr
    said = dict(line.split(" ", 1) for line in done.stdout.splitlines() if not line.startswith("first"))
    assert said["compile"] == "[1.0, 4.0, 9.0, 16.0]"
    assert said["vmap"] == "[[1.0, 4.0, 9.0, 16.0], [4.0, 9.0, 16.0, 25.0]]"
    assert said["checkpoint"] == "[2.0, 4.0, 6.0, 8.0]" and said["stream"] == "[1.0, 16.0, 81.0, 256.0]"
    assert said["export"].startswith("[1.0,") or "export" in said["export"].lower(), said["export"]
    assert "first 1.0" in done.stdout + done.stderr


def test_a_program_in_objective_c_is_built_run_and_checked(say, place):
    (place / "tool.m").write_text(TOOL)
    built = say("metalloid cc tool.m -framework Metal -framework Foundation -o tool")
    if "cannot be loaded" in say("./tool 16 0").stderr:
        pytest.skip("this Python has no shared library")
    assert built.returncode == 0, built.stderr
    done = say("metalloid run ./tool 16 5")
    assert (done.returncode, done.stdout) == (5, "1\n"), done.stderr
    done = say("metalloid check ./tool 16 0")
    assert done.returncode == 0 and "no findings (1 launch, 16 threads checked)" in done.stdout
    done = say("metalloid check ./tool 20 0 --html tool.html")
    assert done.returncode == 1 and "M102 out-of-bounds write" in done.stdout
    assert "M102" in (place / "tool.html").read_text()
    done = say("metalloid check /bin/ls")
    assert done.returncode == 2 and "is not linked to metalloid's Metal" in done.stderr


def test_lint_finds_every_form_in_folders_and_on_stdin(say, place):
    (place / "linted").mkdir()
    (place / "linted" / "forms.py").write_text(LINTED)
    (place / "linted" / "more.metal").write_text("kernel void h(device float* x) { x[0] = missing_four; }\n")
    done = say("metalloid lint linted")
    for place_, word in {
        "forms.py:6": "one",
        "forms.py:8": "two",
        "forms.py:9": "three",
        "more.metal:1": "four",
    }.items():
        assert f"linted/{place_}:" in done.stdout and f"'missing_{word}' is not declared" in done.stdout
    assert done.returncode == 1
    assert "a.py:6:" in say("metalloid lint - --stdin-filename a.py < linted/forms.py").stdout
    assert say("metalloid lint linted --write-baseline known.json").returncode == 0
    assert say("metalloid lint linted --baseline known.json").returncode == 0
    assert say("metalloid lint linted --select M2").returncode == 0


def test_findings_point_home_in_every_form(say, place):
    done = say("metalloid check job.py 100 --sarif job.sarif --html job.html")
    assert "job.py:15:" in done.stdout
    result = json.loads((place / "job.sarif").read_text())["runs"][0]["results"][0]["locations"][0][
        "physicalLocation"
    ]
    assert result["artifactLocation"]["uri"].endswith("job.py") and result["region"]["startLine"] == 15
    assert "job.py" in (place / "job.html").read_text()
    assert "job.py:15" in say("pytest -q -p no:cacheprovider --metalloid-check").stdout


def test_what_counts_is_chosen_and_exit_codes_say_what_happened(say, place):
    (place / "race.metal").write_text(RACE.replace("COMMENT", ""))
    assert say(CHECK).returncode == 1
    for options in ("--ignore M2", "--select M1", "--fail-on never"):
        assert say(f"{CHECK} {options}").returncode == 0, options
    assert say(f"{CHECK} --write-baseline race.json").returncode == 0
    assert say(f"{CHECK} --baseline race.json").returncode == 0
    (place / "pyproject.toml").write_text('[tool.metalloid]\nignore = ["M2"]\n')
    assert say(CHECK).returncode == 0
    (place / "pyproject.toml").unlink()
    (place / "race.metal").write_text(RACE.replace("COMMENT", "  // metalloid: ignore[M2] on purpose"))
    assert say(CHECK).returncode == 0
    (place / "spin.metal").write_text(LOOP)
    done = say("metalloid check spin.metal --grid 1 --arg x=zeros:1:int32 --timeout 1")
    assert done.returncode == 1 and "M209" in done.stdout
    (place / "idle.py").write_text("print('nothing')\n")
    assert say("metalloid check idle.py").returncode == 0
    assert say("metalloid check --require-launches idle.py").returncode == 1
    for line in (
        "metalloid check nothing.py",
        "metalloid check --select X1 idle.py",
        "metalloid run --guard soft race.metal",
    ):
        done = say(line)
        assert done.returncode == 2 and "Traceback" not in done.stderr, line
    done = say(CHECK, METALLOID_CACHE_DIR="/dev/null")
    assert done.returncode == 3 and "Traceback" not in done.stderr and "METALLOID_CACHE_DIR" in done.stderr


def test_beginners_are_told_what_to_do(say, place):
    for source, words in HINTS.items():
        (place / "hint.py").write_text(HINT.format(source=source, size="threadgroup"))
        done = say("metalloid run hint.py")
        assert words in done.stderr and "hint.py:2" in done.stderr, done.stderr
    (place / "hint.py").write_text(HINT.format(source="out[0] = 1;", size="threadgroup_size"))
    assert "Did you mean threadgroup=?" in say("metalloid run hint.py").stderr
    (place / "exp.metal").write_text("kernel void e(device float* x) { x[0] = exp(x[0]); }\n")
    assert "metal::exp" in say("metalloid lint exp.metal").stdout
    (place / "args.metal").write_text(
        "typedef struct { int ne00; float scale; } args_t;\n"
        "kernel void s(constant args_t& args [[buffer(0)]], device float* out [[buffer(1)]]) { out[0] = args.ne00; }\n"
    )
    line = "metalloid run args.metal --grid 1 --out out:1:float32 --arg"
    assert "out = [128.]" in say(f"""{line} 'args={{"ne00": 128, "scale": 1}}'""").stdout
    done = say(f"""{line} 'args={{"ne0": 128}}'""")
    assert done.returncode == 1 and "struct args_t" in done.stderr and "unknown: ne0" in done.stderr
