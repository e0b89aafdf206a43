"""Llamas of awkward sizes against float64 and on the oracle; configurations that change the positions."""

import json

import numpy as np
import pytest

import metalloid as mt
from metalloid.errors import ModelError
from metalloid.llama.model import Choice, Llama

from ..kernels.helpers import oracle
from . import small
from .reference import forward

TOKENS = [3, 66, 0, 12, 12, 40, 7, 1, 9, 33, 21]


def logits(model: Llama, tokens: list[int], prompt: int) -> np.ndarray:
    session = model.session()
    session.logits[:] = np.nan
    found = [session.prefill(tokens[:prompt]).copy()]
    for token in tokens[prompt:]:
        session.step(token, Choice(0.7, 20, 0.9, 5))
        found.append(session.logits.copy())
    return np.array(found)


CHANGES = {
    "awkward": {},
    "tied": {"tie_word_embeddings": True},
    "one group": {"num_key_value_heads": 6, "head_dim": 6},
    "one key head": {"num_key_value_heads": 1, "head_dim": 34},
    "wide": {"hidden_size": 96, "intermediate_size": 64, "vocab_size": 300, "num_hidden_layers": 1},
    "linear": {"rope_theta": 500.0, "rope_scaling": {"type": "linear", "factor": 3.0}},
    "llama3": {
        "rope_theta": 500000.0,
        "rope_scaling": {
            "rope_type": "llama3",
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 16,
        },
    },
}


@pytest.mark.parametrize("case", CHANGES)
def test_logits_are_those_of_float64(tmp_path, case):
    arrays = {
        name: array.astype(np.float64) for name, array in small.write(tmp_path, **CHANGES[case]).items()
    }
    model = Llama.load(tmp_path)
    wanted = forward(arrays, model.config, TOKENS)
    if "lm_head.weight" in arrays:  # the reference ties its output to the embedding
        untied = {**arrays, "model.embed_tokens.weight": arrays["lm_head.weight"]}
        hidden = np.linalg.lstsq(arrays["model.embed_tokens.weight"], wanted.T, rcond=None)[0]
        wanted = (untied["model.embed_tokens.weight"] @ hidden).T
    for prompt in (1, 8, 10):
        got = logits(model, TOKENS, prompt)
        assert np.abs(got - wanted[prompt - 1 :]).max() < 1e-5 * np.abs(wanted).max()


def test_the_oracle_agrees(tmp_path):
    small.write(tmp_path, num_hidden_layers=1)
    model = Llama.load(tmp_path)
    wanted = logits(model, TOKENS[:4], 3)
    with oracle() as watcher:
        got = logits(model, TOKENS[:4], 3)
    assert watcher.launches > 20
    assert np.allclose(got, wanted, rtol=1e-5, atol=1e-5)


def test_the_kernels_are_clean_under_the_checker(tmp_path):
    small.write(tmp_path, num_hidden_layers=1)
    model = Llama.load(tmp_path)
    with mt.checked() as report:
        logits(model, TOKENS[:4], 3)
    assert report.ok, report.text()


def test_shards_are_one_model(tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    whole.mkdir()
    parts.mkdir()
    small.write(whole)
    small.write(parts, shards=3)
    assert np.array_equal(logits(Llama.load(whole), TOKENS, 9), logits(Llama.load(parts), TOKENS, 9))


@pytest.mark.parametrize("case", ["linear", "llama3"])
def test_frequencies_are_those_of_transformers(tmp_path, case):
    pytest.importorskip("torch", reason="torch is not installed")
    functions = pytest.importorskip(
        "transformers.modeling_rope_utils", reason="transformers is not installed"
    )
    from transformers import LlamaConfig

    small.write(tmp_path, **CHANGES[case])
    settings = json.loads((tmp_path / "config.json").read_text())
    config = LlamaConfig(**settings)
    found, _ = functions.ROPE_INIT_FUNCTIONS[case](config, "cpu")
    assert np.allclose(Llama.load(tmp_path).config.frequencies, found.numpy(), rtol=1e-6)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model_type": "qwen2"}, "model_type is 'qwen2'; llama and mistral are supported"),
        ({"hidden_act": "gelu"}, "hidden_act is 'gelu', which is not supported"),
        ({"attention_bias": True}, "attention_bias"),
        ({"sliding_window": 4096}, "sliding_window"),
        ({"rope_scaling": {"rope_type": "yarn", "factor": 2.0}}, "'yarn' is not supported"),
        ({"rope_scaling": {"rope_type": "llama3", "factor": 2.0}}, "low_freq_factor"),
        ({"num_key_value_heads": 4}, "heads that divide into groups"),
    ],
)
def test_what_is_not_supported_is_refused(tmp_path, change, said):
    small.write(tmp_path)
    settings = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**settings, **change}))
    with pytest.raises(ModelError, match=said):
        Llama.load(tmp_path)


@pytest.mark.parametrize("wrong", [0, -1, 1 << 60, 2.5, "12", None, True])
@pytest.mark.parametrize("name", ["hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size"])
def test_sizes_that_cannot_be_are_refused(tmp_path, name, wrong):
    small.write(tmp_path)
    settings = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**settings, name: wrong}))
    with pytest.raises(ModelError, match=f"'{name}' should be"):
        Llama.load(tmp_path)


def test_a_configuration_that_does_not_fit_the_weights_is_refused(tmp_path):
    small.write(tmp_path)
    settings = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**settings, "vocab_size": 68}))
    with pytest.raises(ModelError, match=r"\[67, 36\]; the configuration makes it \[68, 36\]"):
        Llama.load(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({**settings, "num_hidden_layers": 3}))
    with pytest.raises(ModelError, match=r"no tensor 'model\.layers\.2"):
        Llama.load(tmp_path)
