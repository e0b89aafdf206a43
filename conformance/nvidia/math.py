"""Every function of mathematics on a GPU, in every mode and type, against the limits of docs/math.md."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Any
from unittest import mock

import numpy as np
from tests.math import measure as measuring
from tests.math.cases import CASES
from tests.math.ulp import BFLOAT, FLOAT, HALF

HEADER = "#include <metal_stdlib>\nusing namespace metal;\n"
FORMS = {form.metal: form for form in (FLOAT, HALF, BFLOAT)}
LETTERS = "abcdefgh"


class _OnGpu:
    """What tests/math calls on the CPU, as a kernel."""

    def __init__(self, mode: str) -> None:
        self._mode = mode

    def __call__(self, name: str, *arrays: Any, dtype: str) -> Any:
        import metalloid as mt

        case, form = next((c, f) for c in CASES for f in FORMS if f"{c.identifier}_{f}" == name)
        last = "int" if case.integer_last else form
        types = [*[form] * (case.arity - 1), last]
        given = ", ".join(f"device const {t}* p{x}" for t, x in zip(types, LETTERS, strict=False))
        loads = " ".join(f"{t} {x} = p{x}[i];" for t, x in zip(types, LETTERS, strict=False))
        result = "int" if case.integer_result else form
        body = f"{loads} out[i] = {case.expression(form)};"
        text = (
            f"kernel void k({given}, device {result}* out, uint i [[thread_position_in_grid]]) {{ {body} }}"
        )
        out = np.full(len(arrays[0]), 0xA5, dtype)
        kernel = mt.device("cuda").library(HEADER + text, math=self._mode)["k"]
        memory = [a.view(np.uint8).data for a in (*map(np.ascontiguousarray, arrays), out)]
        kernel(*memory, grid=len(out), threadgroup=256)
        assert not kernel.interpreted, kernel.interpreted
        return out


def _one(name: str, form: str, mode: str) -> dict[str, Any]:
    case = next(c for c in CASES if c.identifier == name)
    with mock.patch.object(measuring, "module", _OnGpu):
        m = measuring.measure(case, FORMS[form], mode)  # type: ignore[arg-type]
    return {
        "name": case.name,
        "form": form,
        "mode": mode,
        "worst": m.worst,
        "share": m.share,
        "where": m.where,
    }


def measured(jobs: int, forms: tuple[str, ...] = tuple(FORMS)) -> Iterator[dict[str, Any]]:
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        work = {
            pool.submit(_one, case.identifier, form, mode): (case.name, form, mode)
            for case in CASES
            for form in forms
            for mode in measuring.MODES
        }
        for done in as_completed(work):
            try:
                yield done.result()
            except Exception as error:
                name, form, mode = work[done]
                yield {
                    "name": name,
                    "form": form,
                    "mode": mode,
                    "error": f"{type(error).__name__}: {error}"[:300],
                }
