"""Products of bytes with bytes: they are exact for what was rounded, and how far rounding is off is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from metalloid.backends.cuda.ptx import compile_ptx
from metalloid.backends.cuda.variant import Variant
from metalloid.compile import scalar
from metalloid.kernels.quantized import dequantize
from metalloid.llama import bytewise
from metalloid.llama.formats import Q4_0, Q8_0, Tensor
from metalloid.llama.model import Llama
from metalloid.source import Source
from tests.engine.both import same
from tests.llama import gguf_files
from tests.llama.reference import SHIPPED, config, forward

TEXT = Path(bytewise.__file__).with_suffix(".metal").read_text()
RNG = np.random.default_rng(4)
BYTES = pytest.mark.skipif(
    not bytewise.suits(Tensor("", Q8_0, (16, 32), np.zeros(0, np.uint8))),
    reason="the device has no such products",
)


def tensor(format, rows: int, columns: int) -> Tensor:
    data = RNG.integers(0, 256, (rows, columns // 32, format.size), np.uint8)
    data[..., :2] = RNG.uniform(-0.1, 0.1, (rows, columns // 32, 1)).astype(np.float16).view(np.uint8)
    return Tensor("w", format, (rows, columns), data.reshape(-1))


def rounded(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Blocks as kernels have them, and what they stand for."""
    parts = x.reshape(*x.shape[:-1], -1, 32).astype(np.float32)
    most = np.abs(parts).max(-1)
    scale = np.divide(np.float32(127), most, out=np.zeros_like(most), where=most > 0)
    q = np.rint(parts * scale[..., None]).astype(np.int8)
    d = most / np.float32(127)
    made = np.zeros((*d.shape, bytewise.WORDS), np.uint32)
    made[..., 0] = d.view(np.uint32)
    made[..., 1] = q.astype(np.int32).sum(-1).astype(np.int32).view(np.uint32)
    made[..., 2:] = q.view(np.uint32)
    return made, (q * d[..., None].astype(np.float64)).reshape(x.shape)


def number(n: int) -> np.ndarray:
    return np.array([n], np.uint32)


@pytest.mark.parametrize(
    ("format", "rows", "columns", "inputs", "add", "guard"),
    [
        (Q4_0, 16, 96, 1, "", True),
        (Q4_0, 32, 32, 5, "add_", True),
        (Q8_0, 48, 32, 1, "add_", False),
        (Q8_0, 16, 64, 6, "", False),
    ],
)
def test_products_are_exact_for_what_was_rounded(format, rows, columns, inputs, add, guard) -> None:
    """On the oracle, and on the engine in any number of lanes."""
    of = tensor(format, rows, columns)
    matrix = bytewise.regrouped(of)
    x, meant = rounded(RNG.normal(size=(inputs, columns)))
    wanted = meant @ dequantize(of.data.reshape(rows, -1), format.name).astype(np.float64).T
    before = RNG.normal(size=(inputs, rows)).astype(np.float32)
    out = before.copy() if add else np.full((inputs, rows), np.nan, np.float32)
    arrays = [matrix.data, x, out, number(rows), number(columns), number(1), number(inputs)]
    grid = rows, -(-inputs // bytewise.INPUTS)
    name = f"times_{'many_' if inputs > 1 else ''}{add}{matrix.format}"
    widths = (0, 1, 8, 16) if inputs == 1 else (0,)
    got = same(TEXT, arrays, grid, (16, 1), name=name, widths=widths, tolerance=1e-6, guard=guard)[2]
    wanted += before if add else 0
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-6 * np.abs(wanted).max())


def test_gate_and_up() -> None:
    """Groups of rows of both in turns."""
    gate, up = tensor(Q4_0, 32, 64), tensor(Q4_0, 32, 64)
    one, other = bytewise.paired(gate, up)
    x, meant = rounded(RNG.normal(size=64))
    g, u = (dequantize(w.data.reshape(32, -1), "q4_0").astype(np.float64) @ meant for w in (gate, up))
    arrays = [one.data, other.data.copy(), x, np.full(32, np.nan, np.float32), number(64), number(one.apart)]
    got = same(TEXT, arrays, 32, 16, name=f"gate_up_{one.format}", tolerance=1e-5)[3]
    np.testing.assert_allclose(got, g / (1 + np.exp(-g)) * u, rtol=1e-5, atol=1e-5)
    for matrix, wanted in ((one, g), (other, u)):
        out = np.full(32, np.nan, np.float32)
        numbers = [number(n) for n in (32, 64, matrix.apart, 1)]
        got = same(
            TEXT,
            [matrix.data.copy(), x, out, *numbers],
            (32, 1),
            (16, 1),
            name=f"times_{matrix.format}",
            tolerance=1e-6,
        )
        np.testing.assert_allclose(got[2], wanted, rtol=1e-5, atol=1e-5)


def test_inputs_are_rounded_to_the_nearest() -> None:
    x = RNG.normal(size=(3, 96)).astype(np.float32) * np.repeat(RNG.choice([1e-20, 1, 1e20], (3, 3)), 32, 1)
    x = x.astype(np.float32)
    x[1, 32:64] = 0
    x[2, 5] = np.nan
    x[2, 40] = np.inf
    out = np.full((3, 3, bytewise.WORDS), 0xCDCDCDCD, np.uint32)
    got = same(TEXT, [x, out], 9 * 32, 32, name="rounded")[1]
    wanted, meant = rounded(x[:2])
    np.testing.assert_array_equal(got[:2], wanted)
    assert not np.isfinite(got[2, :2, 0].view(np.float32)).any(), "what is not a number is rounded to one"
    most = np.abs(x[:2].reshape(2, 3, 32)).max(-1)
    error = np.abs(meant - x[:2]).reshape(2, 3, 32).max(-1)
    assert (error <= most / 127 * 0.5001).all() and (error[0] > most[0] / 127 * 0.4).any()


def test_norms_are_rounded_the_same_way() -> None:
    x = RNG.integers(-9, 10, (2, 64)).astype(np.float32)  # whose squares add up to the same in any order
    gain = RNG.uniform(0.5, 2, 64).astype(np.float32)
    out = np.full((2, 2, bytewise.WORDS), 0xCDCDCDCD, np.uint32)
    arrays = [x, gain, out, number(64), np.array([1e-5], np.float32)]
    got = same(TEXT, arrays, 64, 32, name="normed")[2]
    normed = x * gain / np.sqrt((x.astype(np.float64) ** 2).mean(-1, keepdims=True) + 1e-5)
    q, d = got[..., 2:].view(np.int8).astype(np.float64), got[..., :1].view(np.float32)
    np.testing.assert_array_equal(got[..., 1].view(np.int32), q.sum(-1))
    error = np.abs((q * d).reshape(2, 64) - normed).reshape(2, 2, 32)
    assert (error <= d * 0.501).all()


@pytest.mark.parametrize("name", ["times_many_add_q4_0x16", "gate_up_q8_0x16", "normed"])
def test_they_become_ptx(name: str) -> None:
    size = 32 if name in ("normed", "rounded") else 16
    made = compile_ptx(
        scalar(Source(TEXT, math="safe"), name)[0], "sm_90", Variant((size, 1, 1), False, even=True)
    )
    assert ".entry" in made.text


@BYTES
@pytest.mark.parametrize("format", ["Q8_0", "Q4_0"])
def test_logits_are_near_those_of_float64(format: str, tmp_path: Path) -> None:
    """The largest error of a logit over the largest logit: what rounding costs a model of 22 layers, for any tokens."""
    pytest.importorskip("gguf", reason="gguf is not installed")
    weights = gguf_files.write(tmp_path / "model.gguf", format)
    model = Llama.load(tmp_path / "model.gguf")
    assert model.layers[0].q.format == f"{format.lower()}x16" and model.embedding.format == format.lower()
    tokens = [int(t) for t in RNG.integers(3, 2000, 20)]
    wanted = forward(weights, config(), tokens)
    session, got = model.session(), []
    for token in tokens:
        session.step(token)
        got.append(session.logits.copy())
    error = np.abs(np.array(got) - wanted).max(1) / np.abs(wanted).max(1)
    assert 1e-3 < np.median(error) < 0.03 and error.max() < 0.12
    whole = model.session().prefill(tokens)
    assert np.abs(whole - wanted[-1]).max() < 0.12 * np.abs(wanted[-1]).max()


def test_a_model_as_it_is_shipped_is_not_rounded() -> None:
    assert Llama.load(SHIPPED).layers[0].q.format == "f16"
