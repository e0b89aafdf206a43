"""Folders that mlx-lm quantised: unpacked they are the model; what does not fit is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

from metalloid.errors import ModelError
from metalloid.llama.model import Llama

from . import small
from .reference import forward
from .test_small_models import TOKENS, logits

SIZES = {"hidden_size": 64, "intermediate_size": 96, "head_dim": 16, "num_attention_heads": 4}


def packed(matrix: np.ndarray, group: int, bits: int) -> dict[str, np.ndarray]:
    """Numbers of a few bits with float16 scales and biases, as mx.quantize lays them out."""
    rows = len(matrix)
    grouped = matrix.reshape(rows, -1, group)
    low, high = grouped.min(-1, keepdims=True), grouped.max(-1, keepdims=True)
    scales, biases = ((high - low) / (2**bits - 1)).astype(np.float16), low.astype(np.float16)
    numbers = np.clip(np.round((grouped - biases) / scales), 0, 2**bits - 1).astype(np.uint32)
    words = numbers.reshape(rows, -1, 32 // bits) << np.arange(0, 32, bits, dtype=np.uint32)
    return {
        "weight": np.bitwise_or.reduce(words, -1),
        "scales": scales[..., 0],
        "biases": biases[..., 0],
    }


def exact(parts: dict[str, np.ndarray], group: int, bits: int) -> np.ndarray:
    numbers = (parts["weight"][..., None] >> np.arange(0, 32, bits, dtype=np.uint32)) & (2**bits - 1)
    numbers = numbers.reshape(len(parts["weight"]), -1, group)
    return (numbers * parts["scales"][..., None] + parts["biases"][..., None]).reshape(len(numbers), -1)


def write(folder, own: dict[str, dict], **changes) -> dict[str, np.ndarray]:
    """A small model in groups of 32 with 4 bits, `own` matrices otherwise; the weights it then has."""
    arrays = small.write(folder, **SIZES, **changes)
    stored, meant = {}, {}
    for name, array in arrays.items():
        if array.ndim == 1:
            stored[name] = meant[name] = array
            continue
        module = name.removesuffix(".weight")
        how = own.get(module, {"group_size": 32, "bits": 4})
        parts = packed(array, how["group_size"], how["bits"])
        stored |= {f"{module}.{part}": values for part, values in parts.items()}
        meant[name] = exact(parts, how["group_size"], how["bits"]).astype(np.float16).astype(np.float64)
    small.save_tensors(folder / "model.safetensors", stored)
    settings = json.loads((folder / "config.json").read_text())
    settings["quantization"] = {"group_size": 32, "bits": 4, **own}
    (folder / "config.json").write_text(json.dumps(settings))
    return meant


def test_logits_are_those_of_float64(tmp_path):
    own = {
        "model.layers.0.mlp.gate_proj": {"group_size": 64, "bits": 8},
        "model.embed_tokens": {"group_size": 32, "bits": 8},
    }
    meant = write(tmp_path, own, tie_word_embeddings=True)
    model = Llama.load(tmp_path)
    assert model.embedding.format == "f16"
    wanted = forward(meant, model.config, TOKENS)
    got = logits(model, TOKENS, 8)
    assert np.abs(got - wanted[7:]).max() < 1e-4 * np.abs(wanted).max()


def test_what_mlx_packs_is_unpacked(tmp_path):
    mx = pytest.importorskip("mlx.core", reason="mlx is not installed")
    arrays = small.write(tmp_path, **SIZES)
    stored, meant = {}, {}
    for name, array in arrays.items():
        if array.ndim == 1:
            stored[name] = mx.array(array)
            continue
        parts = mx.quantize(mx.array(array).astype(mx.bfloat16), group_size=32, bits=4)
        stored |= dict(zip((name, name[:-6] + "scales", name[:-6] + "biases"), parts, strict=True))
        meant[name] = np.array(mx.dequantize(*parts, group_size=32, bits=4).astype(mx.float32))
    mx.save_safetensors(str(tmp_path / "model.safetensors"), stored)
    settings = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(
        json.dumps({**settings, "quantization": {"group_size": 32, "bits": 4}})
    )
    model = Llama.load(tmp_path)
    gate = model.layers[1].gate
    assert gate.format == "bf16"
    found = (gate.data.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    wanted = meant["model.layers.1.mlp.gate_proj.weight"].ravel()
    assert np.abs(found - wanted).max() <= 2**-8 * np.abs(wanted).max()  # one rounding of bfloat16


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (None, "no 'quantization' that says how"),
        ({"group_size": 32, "bits": 3}, "with 3 bits; 'affine' in groups of"),
        ({"group_size": 17, "bits": 4}, "in groups of 17 with 4 bits"),
        ({"group_size": 32, "bits": 4, "mode": "mxfp4"}, "quantised as 'mxfp4'"),
        ({"group_size": 64, "bits": 4}, "scales and biases of .* its weight makes them"),
        ({"group_size": 32, "bits": 8}, "scales and biases of .* its weight makes them"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, settings, said):
    write(tmp_path, {})
    config = json.loads((tmp_path / "config.json").read_text())
    config["quantization"] = settings
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match=said):
        Llama.load(tmp_path)


def test_words_without_scales_are_refused(tmp_path):
    arrays = small.write(tmp_path)
    arrays["model.embed_tokens.weight"] = arrays["model.embed_tokens.weight"].view(np.uint32)
    small.save_tensors(tmp_path / "model.safetensors", arrays)
    with pytest.raises(ModelError, match=r"'model.embed_tokens.weight' is u32; weights in float32"):
        Llama.load(tmp_path)
