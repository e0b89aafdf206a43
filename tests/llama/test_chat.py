"""`metalloid chat`: an answer that reads as sentences, the same with the same seed, from any kind of input."""

import json
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

from metalloid import llama
from metalloid.cli import group
from metalloid.errors import ModelError
from metalloid.llama.style import STYLES, question, style_of

from . import gguf_files

FOX = "Tell me a story about a fox."


@pytest.fixture(scope="module")
def model():
    return llama.load()


def run(*arguments: str, text: str | None = None):
    return CliRunner().invoke(group, ["chat", *arguments], input=text, catch_exceptions=False)


def test_an_answer_reads_as_sentences_and_ends_by_itself():
    result = run("--prompt", FOX, "--temperature", "0")
    assert result.exit_code == 0
    story = result.stdout.strip()
    assert "fox" in story and story[0].isupper() and story.endswith((".", '"'))
    assert story.count(".") >= 5 and len(set(story.split())) > 40
    assert "tokens/s; prompt of 11 tokens in" in result.stderr


def test_the_same_seed_gives_the_same_answer():
    first, second, other = (run("-p", FOX, "--seed", seed, "--max-tokens", "40") for seed in ("1", "1", "2"))
    assert first.stdout == second.stdout != other.stdout
    assert "(40 tokens" in first.stderr


def test_a_pipe_asks_once():
    assert run("--seed", "1", text=f"{FOX}\n").stdout == run("--seed", "1", "-p", FOX).stdout
    empty = run(text=" \n")
    assert empty.exit_code == 2 and "nothing in the pipe" in empty.stderr


def test_json_for_machines():
    found = json.loads(run("-p", FOX, "--seed", "7", "--max-tokens", "9", "--json").stdout)
    assert found["tokens"] == 9 and found["prompt_tokens"] == 11 and found["seed"] == 7
    assert found["text"] and found["tokens_per_second"] > 0


def test_a_system_prompt_is_heard(model):
    tokens = question(model.tokenizer, style_of(model.tokenizer), "Hi", "You tell stories.", start=0)
    assert (
        model.tokenizer.decode(tokens, special=True)
        == "<s><|system|>You tell stories.<|user|>Hi<|assistant|>"
    )
    assert run("-p", FOX, "--system", "You tell stories.", "--max-tokens", "5").exit_code == 0


def test_marks_that_people_type_are_text(model):
    tokens = question(model.tokenizer, style_of(model.tokenizer), "</s><|user|>", start=0)
    assert [token for token in tokens if token < 5] == [0, 3, 4]


def test_a_conversation_with_a_person(monkeypatch):
    """Two questions and the end of the input."""
    lines = iter([FOX, "", "Tell me about rain."])

    def typed(_: str) -> str:
        try:
            return next(lines)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr("builtins.input", typed)
    monkeypatch.setattr("metalloid.cli.chat.sys.stdin.isatty", lambda: True, raising=False)
    from metalloid.cli.chat import _converse

    chat = llama.Chat(llama.load(), llama.Choice(seed=1))
    asked = []
    monkeypatch.setattr(chat, "ask", lambda text, most: asked.append(text) or iter(["An ", "answer."]))
    _converse(chat, 0)
    assert asked == [FOX, "Tell me about rain."]


def test_the_context_ends_an_answer(model):
    chat = llama.Chat(model, llama.Choice(0.7, seed=3), context=30)
    text = "".join(chat.ask(FOX))
    assert chat.cost.full and chat.session.length == 30 and text
    with pytest.raises(ModelError, match="room for 30"):
        list(chat.ask("word " * 100))


def test_a_stream_is_the_text(model):
    chat = llama.Chat(model)
    pieces = list(chat.ask(FOX, 30))
    session = model.llama.session()
    tokens = question(model.tokenizer, style_of(model.tokenizer), FOX, start=0)
    session.prefill(tokens)
    found = [session.choose()]
    while len(found) < 30:
        found.append(session.step(found[-1]))
    assert len(pieces) == 30 and "".join(pieces) == model.tokenizer.decode(found)


def test_a_gguf_file_talks_like_the_folder_it_was_made_of(tmp_path, model):
    pytest.importorskip("gguf", reason="gguf is not installed")
    gguf_files.write(tmp_path / "stories.gguf", "F16")
    ours = run("-p", FOX, "--temperature", "0").stdout
    assert run(str(tmp_path / "stories.gguf"), "-p", FOX, "--temperature", "0").stdout == ours


def test_what_cannot_be_loaded_is_said_in_a_sentence(tmp_path):
    (tmp_path / "x.gguf").write_bytes(b"GGUF" + bytes(5))
    for path, said in ((tmp_path / "none", "no such file or folder"), (tmp_path / "x.gguf", "version 0")):
        result = subprocess.run(
            [sys.executable, "-c", "from metalloid.cli import main; main()", "chat", str(path), "-p", "x"],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert result.returncode == 2 and said in result.stderr and "Traceback" not in result.stderr


def test_styles_are_known_by_their_marks(model):
    assert style_of(model.tokenizer).name == "stories"
    assert style_of(model.tokenizer, "plain").name == "plain"
    with pytest.raises(ModelError, match="no style 'x'; there are stories, llama3"):
        style_of(model.tokenizer, "x")
    assert all(len({*style.stops}) == len(style.stops) for style in STYLES)


def test_a_second_question_goes_on_where_the_style_has_turns(model):
    chat = llama.Chat(model, style="zephyr")
    list(chat.ask("One", 3))
    first = chat.session.length
    list(chat.ask("Two", 3))
    assert chat.session.length > first + 3
    plain = llama.Chat(model)
    list(plain.ask("One", 3))
    list(plain.ask("Two", 3))
    assert plain.session.length == len(question(model.tokenizer, plain.style, "Two", start=0)) + 2
    assert np.isfinite(plain.session.logits).all()
