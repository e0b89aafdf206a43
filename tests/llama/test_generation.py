"""At every step the kernels' logits are those of a float64 forward pass, in every format, with and without cache."""

import numpy as np
import pytest

from metalloid.errors import ModelError
from metalloid.llama import tokenizer_json
from metalloid.llama.model import Choice, Llama

from . import gguf_files
from .reference import SHIPPED, config, forward, shipped

PROMPT = (
    "<s><|user|>Tell me a story about a fox who lived in a town full of bridges, and about a girl with a kite in"
    " her hands, please.<|assistant|>There was once a young fox."
)
STEPS = 64


@pytest.fixture(scope="module")
def prompt() -> list[int]:
    tokens = tokenizer_json.load(SHIPPED / "tokenizer.json").encode(PROMPT)
    assert len(tokens) == 39
    return tokens


@pytest.fixture(scope="module", params=["safetensors", "F32", "BF16", "Q8_0", "Q4_0"])
def opened(request, tmp_path_factory) -> tuple[Llama, dict[str, np.ndarray]]:
    """The shipped model in this format, and the weights it then has. As it is shipped, in safetensors, it is F16."""
    if request.param == "safetensors":
        return Llama.load(SHIPPED), shipped()
    pytest.importorskip("gguf", reason="gguf is not installed")
    path = tmp_path_factory.mktemp(request.param) / "model.gguf"
    weights = gguf_files.write(path, request.param)
    return Llama.load(path, exact=True), weights


def generated(model: Llama, prompt: list[int], cache: bool) -> tuple[list[int], np.ndarray]:
    """Greedy tokens, and the logits that each was chosen from."""
    session = model.session()
    session.logits[:] = np.nan
    tokens, logits = list(prompt), []
    session.prefill(prompt)
    for _ in range(STEPS):
        logits.append(session.logits.copy())
        tokens.append(session.choose())
        session.logits[:] = np.nan
        if cache:
            session.step(tokens[-1])
        else:
            session.reset()
            session.prefill(tokens)
    return tokens, np.array(logits)


# Quantised weights are compared with the same weights unpacked, so the error is that of the sums alone.
@pytest.mark.parametrize("cache", [True, False], ids=["cache", "no cache"])
def test_logits_are_those_of_float64(opened, prompt, cache):
    model, weights = opened
    if not cache and model.embedding.format == "bf16":
        pytest.skip("the slow way is shown with the formats that matter most")
    tokens, logits = generated(model, prompt, cache)
    wanted = forward(weights, config(), tokens[:-1])[len(prompt) - 1 :]
    assert logits.shape == wanted.shape == (STEPS, 2048)
    assert np.isfinite(logits).all() and (logits.std(1) > 1).all()
    error = np.abs(logits - wanted).max(1) / np.abs(wanted).max(1)
    assert error.max() < 1e-5, f"{error.max():.2e} at step {error.argmax()}"
    assert np.array_equal(tokens[len(prompt) :], wanted.argmax(1))


def test_a_prompt_in_any_pieces_gives_the_same(prompt):
    model = Llama.load(SHIPPED)
    session = model.session()
    whole = session.prefill(prompt).copy()
    for pieces in ((1, 38), (20, 19), (38, 1), (33, 6)):
        session = model.session()
        session.prefill(prompt[: pieces[0]])
        assert np.allclose(session.prefill(prompt[pieces[0] :]), whole, atol=1e-4)


def test_sampling_repeats_with_its_seed(prompt):
    model = Llama.load(SHIPPED)

    def text(seed: int) -> list[int]:
        session, choice = model.session(), Choice(0.9, 50, 0.95, seed)
        session.prefill(prompt)
        tokens = [session.choose(choice)]
        for _ in range(30):
            tokens.append(session.step(tokens[-1], choice))
        return tokens

    assert text(1) == text(1)
    assert text(1) != text(2)


def test_wrong_tokens_and_full_contexts_are_refused(prompt):
    model = Llama.load(SHIPPED)
    session = model.session(40)
    with pytest.raises(ModelError, match="token 2048 is not one of the model's 2048"):
        session.prefill([1, 2048])
    with pytest.raises(ModelError, match="no tokens"):
        session.prefill([])
    session.prefill(prompt)
    session.step(5)
    with pytest.raises(ModelError, match="40 tokens and 1 more; this text has room for 40"):
        session.step(5)
    with pytest.raises(ModelError, match="a context of 321 tokens"):
        model.session(321)
    with pytest.raises(ModelError, match="temperature"):
        Choice(temperature=-1.0)


def test_weights_are_mapped_not_copied():
    model = Llama.load(SHIPPED)
    for matrix in (model.embedding, model.layers[0].q, model.layers[21].down):
        assert not matrix.data.flags.writeable and not matrix.data.flags.owndata


def test_transformers_would_say_the_same(prompt):
    """Hugging Face's own Llama, loaded from the same folder."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    theirs = transformers.LlamaForCausalLM.from_pretrained(SHIPPED, dtype=torch.float64)
    with torch.no_grad():
        wanted = theirs(torch.tensor([prompt])).logits[0, -1].numpy()
    got = Llama.load(SHIPPED).session().prefill(prompt)
    assert np.abs(got - wanted).max() < 1e-5 * np.abs(wanted).max()
