"""docs/nvidia.md: what ran on a GPU, on which, and what was different."""

from __future__ import annotations

import re
from collections import Counter
from statistics import geometric_mean
from typing import Any

HEAD = """# Kernels on an NVIDIA GPU

Written by `python -m conformance nvidia page` from runs on {gpu} ({processor}), driver {driver} (CUDA {cuda}), PTX by
llvmlite {llvmlite}. How it works is in [design/nvidia.md](design/nvidia.md).
"""
_WORDS = {"same": "the same in every bit", "near": "the same within the error of fast math"}


def written(found: dict[str, Any]) -> str:
    parts = [HEAD.format(**found["machine"])]
    parts += [_fuzz(found["fuzz"])] if found.get("fuzz") else []
    parts += [_results(found["results"])] if found.get("results") else []
    parts += [_tests(found["tests"])] if found.get("tests") else []
    parts += [_math(found["math"])] if found.get("math") else []
    parts += [_bench(found["bench"])] if found.get("bench") else []
    return "\n".join(parts)


def _fuzz(verdicts: list[dict[str, Any]]) -> str:
    counts = Counter(v["how"] for v in verdicts)
    lines = [f"- {_WORDS.get(how, how)}: {many}" for how, many in counts.most_common()]
    bad = [f"- {v['name']}: {v['how']}, {v['words'][:200]}" for v in verdicts if v["how"] not in _WORDS]
    return "\n".join([f"## Generated programs\n\n{len(verdicts)} programs of `tests/engine/fuzz` against the oracle:\n", *lines, *bad, ""])  # fmt: skip  # noqa: E501


def _results(found: list[dict[str, Any]]) -> str:
    # Some references need a package that has to be installed first; where it cannot be, nothing was run.
    verdicts = [v for v in found if not v["reason"].startswith(("CalledProcessError", "not run"))]
    suites: dict[str, list[dict[str, Any]]] = {}
    for verdict in verdicts:
        suites.setdefault(f"{verdict['suite']} {verdict['family']}", []).append(verdict)
    rows = [f"| {name} | {sum(v['passed'] for v in of)} | {len(of)} |" for name, of in suites.items()]
    bad = [
        f"- {v['suite']} {v['family']} {v['name']}: {_short(v['reason'])}"
        for v in verdicts
        if not v["passed"]
    ]
    passed = sum(v["passed"] for v in verdicts)
    head = f"## Third-party kernels\n\n{passed} of {len(verdicts)} cases have the results that numpy expects."
    if missing := len(found) - len(verdicts):
        head += f" {missing} were not run: their reference was missing, or time was up."
    head += "\n"
    return "\n".join([head, "| suite | passed | cases |", "|---|---|---|", *rows, "", *bad, ""])


def _tests(verdicts: list[dict[str, str]]) -> str:
    folders = Counter((v["name"].split("/")[1], v["how"]) for v in verdicts)
    lines = [f"- `tests/{folder}`: {many} {how}" for (folder, how), many in sorted(folders.items())]
    bad = [f"  - {_short(v['name'])}" for v in verdicts if v["how"] != "passed"]
    return "\n".join(["## Suites, with the GPU as default device\n", *lines, *bad, ""])


def _math(found: list[dict[str, Any]]) -> str:
    bad = [m for m in found if m.get("share", 2.0) > 1 + 1e-6]
    lines = [f"- {m['name']}, {m['form']}, {m['mode']}: {_worst(m)}" for m in bad]
    head = f"## Functions of mathematics\n\n{len(found) - len(bad)} of {len(found)} are within the limits of"
    head += " [math.md](math.md): every function in every mode, for float, half and bfloat.\n"
    return "\n".join([head, *lines, ""])


def _worst(m: dict[str, Any]) -> str:
    return m.get("error") or f"{m['worst']:.2f} ulp at {m['where']}"


def _bench(found: dict[str, Any]) -> str:
    rows, launch = found["kernels"], found["launch"]
    lines = [
        f"| {r['name']} | {r['metal']:.1f} | {r['cuda']:.1f} | {r['cuda'] / r['metal']:.2f} |"
        f" {r['bare'] / r['metal']:.2f} | {r['rate'].strip()} |"
        for r in rows
    ]
    mean = geometric_mean([r["cuda"] / r["metal"] for r in rows])
    head = (
        "## Speed\n\nThe same kernels in Metal and, by hand, in CUDA (nvcc -O3), in one run (`python -m bench cuda`);"
        " times in microseconds\nof the GPU, ratios above 1 where Metal is faster. The last ratio is that of guarded to"
        " unguarded code.\n"
    )
    more = [f"\nGeometric mean {mean:.2f}.\n"]
    more.append(
        f"A warm launch that waits: {launch['metalloid']:.1f} us, with CuPy {launch['cupy']:.1f} us.\n"
    )
    if found.get("gemm"):
        more += [
            "Products of halves, n x n x n, by kernels of others on tensor cores, beside cuBLAS:\n",
            "| kernel | n | TFLOP/s | of cuBLAS | error |",
            "|---|---|---|---|---|",
            *(
                f"| {g['name']} | {g.get('n', 4096)} | {g['tflops']:.1f} | {g['tflops'] / g['cublas']:.3f} |"
                f" {g['error']:.1e} |"
                for g in found["gemm"]
            ),
            "",
        ]
    if found.get("decode"):
        ms, share = found["decode"]["ms"], found["decode"]["share"]
        more.append(
            f"A Llama of 1B parameters with random weights in q4_0 takes {ms:.2f} ms a token: {share:.3f} of what the"
            "\ncard copies in that time.\n"
        )
    table = ["| kernel | Metal | CUDA | ratio | guarded | rate |", "|---|---|---|---|---|---|"]
    return "\n".join([head, *table, *lines, *more])


def _short(text: str) -> str:
    """One line; files are named from the checkout on."""
    return " ".join(re.sub(r"/\S*/(?=\.conformance/)", "", text).split())[:240].replace("|", "\\|")
