"""Two runs of `conformance.identical` agree on the same code and tell where code differs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import click
import pytest
from conformance.cases import Case
from conformance.identical import SIZES, differences, hashes

from conformance import identical
from metalloid.source import Source

BODY = """kernel void k(device int* out, uint i [[thread_position_in_grid]]) {
  out[i] = metal::simd_sum(int(i)) + NUMBER;
}"""


def made(number: str) -> dict[str, str]:
    right = Source(BODY.replace("NUMBER", number), name="k.metal")
    wrong = Source("kernel void k(", name="k.metal")
    return hashes(Case("test", "k.metal", "k", ((wrong, "k"), (right, "k"))), checked=True)


def test_the_same_code_has_the_same_hashes_and_other_code_others() -> None:
    first = made("1")
    assert len(first) == len(set(first.values())) == len(SIZES) + 1
    assert all(len(value) == 64 for value in first.values())
    assert differences(first, made("1")) == []
    assert differences(first, made("2")) == sorted(first)


def test_what_one_run_lacks_is_a_difference() -> None:
    assert differences({"a": "1", "b": "2"}, {"a": "1", "c": "3"}) == ["b", "c"]


def test_a_kernel_that_does_not_compile_is_held_by_its_sentence() -> None:
    refused = hashes(Case("test", "k.metal", "k", ((Source("int", name="k.metal"), "k"),)), checked=False)
    assert all("Error: " in value for value in refused.values()) and len(refused) == len(SIZES)


def test_a_commit_is_asked_by_its_own_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a tree of its own, whatever its tools are by now."""
    tool = (
        'import sys\nfrom pathlib import Path\nPath(sys.argv[2]).write_text(\'{"k": "%s"}\' % sys.argv[4])\n'
    )
    (tmp_path / "conformance").mkdir()
    (tmp_path / "conformance" / "identical.py").write_text(tool)
    for folder in ("src", "bench"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "kept").write_text("")
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@t", "-C", str(tmp_path)]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "tools"]):
        subprocess.run([*git, *words], check=True)
    (tmp_path / "conformance" / "identical.py").write_text("raise SystemExit(1)\n")
    monkeypatch.setattr(identical, "ROOT", tmp_path)
    assert identical.of_commit("HEAD", ["--count", "7"]) == {"k": "7"}
    with pytest.raises(click.ClickException, match="knows no tree of 'nowhere'"):
        identical.of_commit("nowhere", [])
