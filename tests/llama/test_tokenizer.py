"""Tokenizers against the `tokenizers` package, on the shipped one and on small ones made here."""

import json
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metalloid.errors import ModelError
from metalloid.llama import tokenizer_gguf, tokenizer_json
from metalloid.llama.patterns import LLAMA3
from metalloid.llama.spelling import SPACE

SHIPPED = Path(str(resources.files("metalloid.llama") / "model" / "tokenizer.json"))
TEXTS = [
    "Once there was a fox.",
    "",
    " ",
    "   three   spaces   ",
    "I'll, we've; THEY'RE 'S don't\n\n\r\n\tnew  line \n x",
    "12345 1234567 3.14159 ½ ² Ⅷ",
    "naïve café Ärger 日本語 テスト 한국어 العربية 😀👩‍👩‍👧‍👦 e\u0301",
    "\u2028 \u00a0 \u3000 \x1c \x85 \u200b",
    "<s><|user|>Tell me a story.<|assistant|> Once </s>",
    "<|user|<|user|>|> <s",
    "\u2581 a \u2581b <0x0A> \x00",
]
text = st.text(st.characters(exclude_categories=("Cs",)), max_size=40) | st.text(
    "ab 's\n1é<|>user", max_size=30
)


def check(ours, theirs, sample: str) -> None:
    ids = theirs.encode(sample).ids
    assert ours.encode(sample) == ids
    assert ours.decode(ids) == theirs.decode(ids)
    stream = ours.stream()
    assert "".join([*map(stream.feed, ids), stream.end()]) == ours.decode(ids)


@pytest.fixture(scope="module")
def package():
    return pytest.importorskip("tokenizers", reason="tokenizers is not installed")


OURS = tokenizer_json.load(SHIPPED)


@pytest.fixture(scope="module")
def theirs(package):
    return package.Tokenizer.from_file(str(SHIPPED))


@pytest.mark.parametrize("sample", TEXTS)
def test_the_shipped_tokenizer(theirs, sample):
    check(OURS, theirs, sample)


@settings(max_examples=300, deadline=None)
@given(text)
def test_the_shipped_tokenizer_on_any_text(theirs, sample):
    check(OURS, theirs, sample)


def test_the_shipped_tokenizer_keeps_every_text():
    for sample in TEXTS:
        assert OURS.decode(OURS.encode(sample), special=True) == sample


def corpus() -> list[str]:
    words = (
        "the quick brown fox jumps over lazy dogs while naïve cafés serve 123 coffees in 2024 日本".split()
    )
    source = np.random.default_rng(3)
    return [" ".join(source.choice(words, 12)) for _ in range(300)]


def llama3_like(package):
    made = package.Tokenizer(package.models.BPE(ignore_merges=True))
    made.pre_tokenizer = package.pre_tokenizers.Sequence(
        [
            package.pre_tokenizers.Split(package.Regex(LLAMA3), "isolated"),
            package.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    made.decoder = package.decoders.ByteLevel()
    trainer = package.trainers.BpeTrainer(
        vocab_size=500,
        special_tokens=["<|begin|>", "<|end|>"],
        initial_alphabet=package.pre_tokenizers.ByteLevel.alphabet(),
    )
    made.train_from_iterator(corpus(), trainer)
    made.post_processor = package.processors.TemplateProcessing(
        single="<|begin|> $A", special_tokens=[("<|begin|>", 0)]
    )
    return made


def sentencepiece_like(package, metaspace: bool):
    made = package.Tokenizer(package.models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    if metaspace:
        made.pre_tokenizer = package.pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    else:
        made.normalizer = package.normalizers.Sequence(
            [package.normalizers.Prepend(SPACE), package.normalizers.Replace(" ", SPACE)]
        )
    made.decoder = package.decoders.Sequence(
        [
            package.decoders.Replace(SPACE, " "),
            package.decoders.ByteFallback(),
            package.decoders.Fuse(),
            package.decoders.Strip(" ", 1, 0),
        ]
    )
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    trainer = package.trainers.BpeTrainer(vocab_size=600, special_tokens=tokens)
    made.train_from_iterator(corpus(), trainer)
    file = json.loads(made.to_str())
    file["added_tokens"] = file["added_tokens"][:3]  # bytes are tokens of the model, not special ones
    made = package.Tokenizer.from_str(json.dumps(file))
    made.post_processor = package.processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return made


MAKERS = {
    "llama 3": llama3_like,
    "sentencepiece by normaliser": lambda package: sentencepiece_like(package, False),
    "sentencepiece by metaspace": lambda package: sentencepiece_like(package, True),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_trained_tokenizers(package, kind):
    theirs = MAKERS[kind](package)
    ours = tokenizer_json.from_json(kind, json.loads(theirs.to_str()))

    @settings(max_examples=150, deadline=None)
    @given(text)
    def on_any_text(sample):
        check(ours, theirs, sample)

    for sample in [*TEXTS, *corpus()[:20], "<|begin|>a<|end|>  b", "</s> x <s>"]:
        check(ours, theirs, sample)
    on_any_text()


def metadata_of(file: dict, **more: object) -> dict:
    """The shipped tokenizer as GGUF's metadata has it."""
    tokens = sorted(file["model"]["vocab"], key=file["model"]["vocab"].get)
    special = {entry["content"] for entry in file["added_tokens"]}
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": np.array([3 if token in special else 1 for token in tokens], np.int32),
        "tokenizer.ggml.merges": [" ".join(pair) for pair in file["model"]["merges"]],
        **more,
    }


def test_byte_level_tokens_of_gguf_are_those_of_the_json():
    found = tokenizer_gguf.from_metadata("x", metadata_of(json.loads(SHIPPED.read_text())))
    for sample in TEXTS:
        assert found.encode(sample) == OURS.encode(sample)
        assert found.decode(found.encode(sample)) == OURS.decode(OURS.encode(sample))


def test_sentencepiece_tokens_of_gguf(package):
    """With scores that fall with the rank of a merge, sentencepiece joins what BPE joins."""
    theirs = sentencepiece_like(package, False)
    file = json.loads(theirs.to_str())
    tokens = sorted(file["model"]["vocab"], key=file["model"]["vocab"].get)
    rank = {"".join(pair): n for n, pair in reversed(list(enumerate(file["model"]["merges"])))}
    found = tokenizer_gguf.from_metadata(
        "x",
        {
            "tokenizer.ggml.model": "llama",
            "tokenizer.ggml.tokens": tokens,
            "tokenizer.ggml.scores": np.array([-rank.get(token, 1e6) for token in tokens], np.float32),
            "tokenizer.ggml.token_type": np.array(
                [2, 3, 3] + [6] * 256 + [1] * (len(tokens) - 259), np.int32
            ),
            "tokenizer.ggml.bos_token_id": 1,
        },
    )
    for sample in [*corpus()[:50], "naïve 日本 café", "ünknown Zeichen 😀"]:
        assert found.encode(sample) == theirs.encode(sample).ids
        assert found.decode(found.encode(sample)) == sample


def test_a_stream_waits_for_whole_characters():
    stream = OURS.stream()
    parts = [stream.feed(token) for token in OURS.encode("é😀")]
    assert "".join(parts) == "é😀" and all(part in ("", "é", "😀") for part in parts)
    stream = OURS.stream()
    assert "".join(stream.feed(token) for token in OURS.encode("😀")[:-1]) == ""
    assert stream.end() == "\ufffd"


def test_text_of_users_holds_no_special_tokens():
    assert 3 in OURS.encode("<|user|>")
    assert 3 not in OURS.encode("<|user|>", special=False)
    assert OURS.decode(OURS.encode("<|user|>", special=False)) == "<|user|>"


def changed(**parts: object) -> dict:
    return {**json.loads(SHIPPED.read_text()), **parts}


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ({}, "not laid out as a tokenizer"),
        (changed(model={"type": "WordPiece"}), "'WordPiece' is not supported"),
        (changed(model={"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}), "makes no token"),
        (changed(model={"type": "BPE", "vocab": {"a": 1 << 40}, "merges": []}), "ids of its tokens"),
        (changed(model={"type": "BPE", "vocab": {"a": "b"}, "merges": []}), "tokeni"),
        (changed(normalizer={"type": "Nmt"}), "'Nmt' is not supported"),
        (changed(pre_tokenizer={"type": "Bert"}), "'Bert' is not supported"),
        (changed(decoder={"type": "WordPiece"}), "'WordPiece' is not supported"),
        (changed(post_processor={"type": "Roberta"}), "'Roberta' is not supported"),
        (
            changed(
                pre_tokenizer={"type": "Split", "behavior": "Isolated", "pattern": {"Regex": "\\p{Han}"}}
            ),
            "Han",
        ),
        (
            changed(pre_tokenizer={"type": "Split", "behavior": "Isolated", "pattern": {"Regex": "("}}),
            "pattern",
        ),
        (changed(added_tokens=[3]), "not laid out as a tokenizer"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(file, said):
    with pytest.raises(ModelError, match=said):
        tokenizer_json.from_json("x", file)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"tokenizer.ggml.model": "bert"}, "'bert' is not supported"),
        ({"tokenizer.ggml.pre": "qwen2"}, "'qwen2'"),
        ({"tokenizer.ggml.tokens": 3}, "tokens"),
        ({"tokenizer.ggml.token_type": np.zeros(3, np.int32)}, "token_type"),
        ({"tokenizer.ggml.merges": 7}, "merges"),
        ({"tokenizer.ggml.model": "llama"}, "scores"),
    ],
)
def test_wrong_metadata_is_refused(change, said):
    with pytest.raises(ModelError, match=said):
        tokenizer_gguf.from_metadata("x", metadata_of(json.loads(SHIPPED.read_text()), **change))
