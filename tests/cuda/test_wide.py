"""The kernels of a Llama on a GPU: they become PTX, weights are those of the file, and logits are those of the CPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from metalloid.backends.cuda import driver
from metalloid.backends.cuda.ptx import compile_ptx
from metalloid.backends.cuda.variant import Variant
from metalloid.compile import scalar
from metalloid.kernels.families import HERE
from metalloid.llama import model, wide
from metalloid.llama.config import Config
from metalloid.llama.formats import F32, Q4_0, Tensor
from metalloid.llama.weights import Layer, Weights
from metalloid.source import Source

SOURCE = Source.from_file(Path(wide.__file__).with_suffix(".metal"), math="safe", include=(HERE,))
BYTES, ATTEND = (
    Source.from_file(Path(wide.__file__).with_name(f"{name}.metal"), math="safe", include=(HERE,))
    for name in ("wide_bytes", "wide_attend")
)
ROUNDED = {"norm_matvec": BYTES, "norm_gate_up": BYTES, "matvec_add_short": BYTES, "matvec_add_long": BYTES,
           "norm_heads": BYTES, "attend_near": ATTEND}  # fmt: skip
KERNELS = {"norm_matvec_q4_0x8": 256, "matvec_add_q4_0x8": 256, "norm_gate_up_q4_0x8": 256,
           "norm_heads_q4_0x8": 256, "attend": 1024, "largest": 256, "choose": 1024}  # fmt: skip


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_become_ptx_with_barriers_of_the_hardware(name: str) -> None:
    made = compile_ptx(scalar(SOURCE, name)[0], "sm_90", Variant((KERNELS[name], 1, 1), False, even=True))
    assert "bar.sync" in made.text and "membar.sc.cta" not in made.text  # of software barriers


@pytest.mark.parametrize("name", ROUNDED)
def test_products_of_bytes_are_single_instructions(name: str) -> None:
    made = compile_ptx(scalar(ROUNDED[name], name)[0], "sm_90", Variant((512, 1, 1), False, even=True))
    assert "activemask" not in made.text and "membar.sc.cta" not in made.text  # all lanes come, everywhere
    assert name == "attend_near" or made.text.count("dp4a.s32.s32") >= 16


@pytest.mark.skipif(bool(driver.missing()), reason="there is no NVIDIA GPU here")
def test_a_gpu_rounds_as_it_should() -> None:
    environment = {**os.environ, "METALLOID_DEVICE": "cuda"}
    command = "from tests.llama.test_wide_bytes import everything; everything()"
    subprocess.run([sys.executable, "-c", command], env=environment, check=True, timeout=200)


def test_weights_are_regrouped() -> None:
    blocks = np.random.default_rng(1).integers(0, 256, (3, 16, 18), np.uint8)
    groups = wide.regrouped(blocks.reshape(-1), 512)
    assert groups is not None and wide.regrouped(blocks.reshape(-1), 288) is None
    for row, block in np.ndindex(3, 16):
        at = groups.reshape(3, 2, 144)[row, block // 8]
        assert (at[block % 8 * 16 :][:16] == blocks[row, block, 2:]).all()
        assert (at[128 + block % 8 * 2 :][:2] == blocks[row, block, :2]).all()


def weights(interleaved: bool, head: int, width: int, hidden: int, vocabulary: int) -> Weights:
    frequencies = tuple(1e4 ** (-2 * n / head) for n in range(head // 2))
    shape = Config(2, width, 8, 2, head, hidden, vocabulary, 2048, 1e-5, frequencies, interleaved, tied=True)
    rng = np.random.default_rng(1)

    def matrix(rows: int, columns: int) -> Tensor:
        count = rows * columns // 32
        data = rng.integers(0, 256, (count, 18), np.uint8)
        scales = rng.uniform(0.5, 1.5, count) * 0.15 / columns**0.5
        data[:, :2] = scales.astype(np.float16)[:, None].view(np.uint8)
        return Tensor("random", Q4_0, (rows, columns), data.reshape(-1))

    def gain() -> Tensor:
        return Tensor("gain", F32, (width,), rng.uniform(0.5, 1.5, width).astype(np.float32).view(np.uint8))

    kv, all_ = shape.kv_width, 8 * head
    layers = tuple(
        Layer(gain(), matrix(all_, width), matrix(kv, width), matrix(kv, width), matrix(width, all_), gain(),
              matrix(hidden, width), matrix(hidden, width), matrix(width, hidden))
        for _ in range(2)
    )  # fmt: skip
    table = matrix(vocabulary, width)
    return Weights(shape, table, layers, gain(), table, {})


SHAPES = ((False, 32, 256, 512, 300), (True, 64, 512, 8448, 3001), (False, 96, 4352, 1024, 1500))
CHOICES = (model.Choice(), model.Choice(0.8, 40, 0.9, 7), model.Choice(0.9, 0, 1.0, 3))


def text_of(out: str) -> None:
    """Tokens and logits of each shape and choice, on the device of this process."""
    kept = {}
    for n, shape in enumerate(SHAPES):
        of = model.Llama(weights(*shape), exact=True)
        for m, choice in enumerate(CHOICES):
            session = of.session(300)
            logits = [session.prefill([1 + i % 250 for i in range(200)]).copy()]
            tokens = [session.choose(choice)]
            for _ in range(6):
                tokens.append(session.step(tokens[-1], choice))
                logits.append(np.array(session.logits))
            kept[f"tokens{n}{m}"], kept[f"logits{n}{m}"] = np.array(tokens), np.array(logits)
        session = model.Llama(weights(*shape), exact=os.environ["METALLOID_DEVICE"] == "cpu").session(300)
        session.prefill(list(range(1, 201)))
        session.step(7)
        kept[f"rounded{n}"] = np.array(session.logits)
    np.savez(out, **kept)


@pytest.mark.skipif(bool(driver.missing()), reason="there is no NVIDIA GPU here")
def test_a_gpu_says_what_the_cpu_says(tmp_path: Path) -> None:
    said = []
    for device in ("cpu", "cuda"):
        path = str(tmp_path / f"{device}.npz")
        command = f"from tests.cuda.test_wide import text_of; text_of({path!r})"
        environment = {**os.environ, "METALLOID_DEVICE": device}
        subprocess.run([sys.executable, "-c", command], env=environment, check=True, timeout=200)
        said.append(np.load(path))
    for name in said[0].files:
        one, other = said[0][name], said[1][name]
        if name.startswith("tokens"):
            assert (one == other).all(), name
        elif name.startswith("rounded"):
            assert np.abs(one - other).max() <= 0.03 * np.abs(one).max(), name
        else:
            assert np.abs(one - other).max() <= 2e-6 * np.abs(one).max(), name
