"""The dialogue of an editor with `metalloid lsp`, over the protocol."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lsp.client import Client, edited, place

pytest.importorskip("pygls", reason="pygls is not installed: pip install 'metalloid[lsp]'")

METAL = """#include <metal_stdlib>
using namespace metal;

struct Params {
    float alpha;
    uint n;
};

// 🎉 stands outside the basic plane: editors count it twice
static float scaled(float v, float by) { return v * by; }

kernel void apply(device float* x [[buffer(0)]], constant Params& p [[buffer(1)]],
                  uint i [[thread_position_in_grid]]) {
    threadgroup float tile[64];
    if (i < p.n) {
        /* 🎉 */ x[i] = scaled(x[i], p.alpha);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    tile[i % 64] = simd_sum(x[i]);
}
"""
PYTHON = '''import mlx.core as mx
import torch
import metalloid as mt

square = mx.fast.metal_kernel(
    name="square",
    input_names=["inp"],
    output_names=["out"],
    source="""
        uint elem = thread_position_in_grid.x;
        out[elem] = inp[elem] * inp[elem];
    """,
)

shader = torch.mps.compile_shader("""
#include <metal_stdlib>
using namespace metal;
kernel void add(device float* a, uint i [[thread_position_in_grid]]) {
    a[i] = fmin(a[i], 1.0f);
}
""")

library = mt.device().library("""
kernel void fill(device float* b, uint i [[thread_position_in_grid]]) {
    b[i] = 1;
}
""")
'''


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    made = Client()
    yield made
    made.end()


@pytest.fixture(scope="module")
def metal(client: Client, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("lsp") / "scale.metal"
    uri = client.open(path, METAL)
    assert client.published(uri) == []
    return uri


def test_it_offers_what_it_does(client: Client) -> None:
    offered = client.offered["capabilities"]
    for name in (
        "hoverProvider",
        "completionProvider",
        "definitionProvider",
        "codeActionProvider",
        "documentSymbolProvider",
    ):
        assert offered[name], name
    assert client.offered["serverInfo"]["name"] == "metalloid"


def test_a_mistake_is_told_as_it_is_typed_and_goes_when_it_is_mended(client: Client, tmp_path: Path) -> None:
    uri = client.open(tmp_path / "a.metal", METAL)
    assert client.published(uri) == []
    wrong = METAL.replace("scaled(x[i]", "scald(x[i]")
    (told,) = client.published(uri, client.change(uri, wrong))
    assert (told["code"], told["source"], told["severity"]) == ("M602", "metalloid", 1)
    assert told["range"] == {"start": place(wrong, "scald(x"), "end": place(wrong, "scald(x", 5)}
    assert "did you mean 'scaled'" in told["message"]
    assert client.published(uri, client.change(uri, METAL)) == []
    client.close(uri)
    assert client.published(uri) == []


def test_of_many_changes_the_last_is_told(client: Client, tmp_path: Path) -> None:
    uri = client.open(tmp_path / "many.metal", METAL)
    for n in range(8):
        client.change(uri, METAL.replace("v * by", f"v * wrong{n}"))
    told = client.published(uri, client.change(uri, METAL.replace("v * by", "v * last")))
    assert ["'last' is not declared" in one["message"] for one in told] == [True]
    client.close(uri)


@pytest.mark.parametrize(
    ("mark", "inside", "words"),
    [
        ("simd_sum", 3, ["T simd_sum(T x)", "M208"]),
        ("threadgroup_barrier", 1, ["Waits for all threads", "M204"]),
        ("thread_position_in_grid", 5, ["among all threads of the launch"]),
        ("[[buffer(1)]]", 4, ["0 to 30"]),
        ("mem_threadgroup", 2, ["Orders threadgroup memory"]),
        ("threadgroup float", 2, ["32 KiB"]),
        ("scaled(x", 1, ["static float scaled(float v, float by)"]),
        ("tile[i", 1, ["threadgroup float tile[64];"]),
    ],
)
def test_hover_explains_builtins_attributes_and_names(
    client: Client, metal: str, mark: str, inside: int, words: list[str]
) -> None:
    shown = client.at("hover", metal, METAL, mark, inside)["contents"]["value"]
    assert all(word in shown for word in words), shown


def test_hover_over_a_mistake_has_its_rule(client: Client, tmp_path: Path) -> None:
    wrong = METAL.replace("p.n)", "p.n.x)")
    uri = client.open(tmp_path / "rule.metal", wrong)
    (told,) = client.published(uri)
    shown = client.ask("textDocument/hover", textDocument={"uri": uri}, position=told["range"]["start"])
    assert (
        f"**{told['code']}:" in shown["contents"]["value"] and "Why it happens" in shown["contents"]["value"]
    )
    client.close(uri)


def test_hover_says_nothing_where_there_is_nothing(client: Client, metal: str) -> None:
    assert client.at("hover", metal, METAL, "};") is None


@pytest.mark.parametrize(
    ("mark", "inside", "target"),
    [
        ("scaled(x", 2, "scaled(float v"),
        ("x[i], p", 0, "x [[buffer(0)]]"),
        ("p.alpha", 0, "p [[buffer(1)]]"),
        ("p.alpha", 4, "alpha;"),
        ("Params& p", 2, "Params {"),
        ("tile[i", 2, "tile[64]"),
        ("v * by", 0, "v, float by"),
        ("i < p.n", 0, "i [[thread_position_in_grid]]"),
    ],
)
def test_a_name_leads_to_its_declaration(
    client: Client, metal: str, mark: str, inside: int, target: str
) -> None:
    found = client.at("definition", metal, METAL, mark, inside)
    assert (found["uri"], found["range"]["start"]) == (metal, place(METAL, target))


def test_names_of_included_files_are_found(client: Client, tmp_path: Path) -> None:
    (tmp_path / "inner.h").write_text("#define SIZE 4\ninline float half_of(float v) { return v / 2; }\n")
    (tmp_path / "outer.h").write_text('#include "inner.h"\n')
    text = (
        '#include "outer.h"\n'
        "kernel void k(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = half_of(SIZE); }\n"
    )
    uri = client.open(tmp_path / "main.metal", text)
    assert client.published(uri) == []
    inner = (tmp_path / "inner.h").as_uri()
    for mark, spot in (("half_of", (1, 13)), ("SIZE", (0, 8))):
        found = client.at("definition", uri, text, mark, 1)
        assert found["uri"] == inner
        assert (found["range"]["start"]["line"], found["range"]["start"]["character"]) == spot
    assert client.at("definition", uri, text, "outer.h", 1)["uri"] == (tmp_path / "outer.h").as_uri()
    client.close(uri)


def test_completion_knows_the_place(client: Client, tmp_path: Path) -> None:
    text = METAL.replace("simd_sum(x[i]);", "si").replace(
        "uint i [[thread_position_in_grid]]", "uint i [[thr"
    )
    uri = client.open(tmp_path / "half.metal", text)

    def offered(mark: str, inside: int) -> set[str]:
        return {item["label"] for item in client.at("completion", uri, text, mark, inside)["items"]}

    words = offered("= si\n", 4)
    assert {"simd_sum", "tile", "x", "scaled", "float4", "threadgroup_barrier", "Params"} <= words
    assert "alpha" not in words and "v" not in words  # a member, and another function's parameter
    attributes = offered("[[thr", 5)
    assert "thread_position_in_grid" in attributes and "simd_sum" not in attributes
    assert offered("mem_flags::mem_t", 12) == {"mem_none", "mem_device", "mem_threadgroup", "mem_texture"}
    assert offered("p.alpha)", 3) == {"alpha", "n"}
    client.close(uri)


FIXES = {
    "a semicolon": ("v * by; }", "v * by }"),
    "a name": ("scaled(x[i]", "scald(x[i]"),
    "a barrier of CUDA": ("threadgroup_barrier(mem_flags::mem_threadgroup)", "__syncthreads()"),
    "a type": ("float alpha;", "double alpha;"),
    "an attribute": ("[[thread_position_in_grid]]", "[[thread_position_in_gird]]"),
    "an address space": ("apply(device float* x", "apply(float* x"),
    "a component": ("if (i < p.n)", "if (i.x < p.n)"),
}


@pytest.mark.parametrize(("right", "wrong"), FIXES.values(), ids=FIXES)
def test_a_certain_hint_is_a_quick_fix_that_mends_the_text(
    client: Client, tmp_path: Path, right: str, wrong: str
) -> None:
    text = METAL.replace(right, wrong)
    assert text != METAL
    uri = client.open(tmp_path / "fix.metal", text)
    told = client.published(uri)
    assert told
    made = actions(client, uri, told)
    assert len(made) == 1, (told, made)
    assert made[0]["kind"] == "quickfix" and made[0]["isPreferred"]
    assert edited(text, made[0]["edit"]["changes"][uri]) == METAL
    client.close(uri)


def test_what_is_not_certain_is_not_offered(client: Client, tmp_path: Path) -> None:
    text = METAL.replace("v * by", "v * nowhere_near")
    uri = client.open(tmp_path / "unsure.metal", text)
    assert actions(client, uri, client.published(uri)) == []
    client.close(uri)


def actions(client: Client, uri: str, told: list[dict[str, Any]]) -> list[dict[str, Any]]:
    given = {"diagnostics": told, "only": ["quickfix"]}
    found = client.ask(
        "textDocument/codeAction", textDocument={"uri": uri}, range=told[0]["range"], context=given
    )
    assert isinstance(found, list)
    return found


def test_symbols_are_the_kernels_functions_and_structs(client: Client, metal: str) -> None:
    found = client.ask("textDocument/documentSymbol", textDocument={"uri": metal})
    assert [(one["name"], one["detail"]) for one in found] == [
        ("Params", "struct"),
        ("scaled", "function"),
        ("apply", "kernel"),
    ]


# ---- Metal inside Python --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def python(client: Client, tmp_path_factory: pytest.TempPathFactory) -> str:
    uri = client.open(tmp_path_factory.mktemp("lsp") / "model.py", PYTHON)
    assert client.published(uri) == []
    return uri


@pytest.mark.parametrize(
    ("right", "wrong", "code"),
    [
        ("inp[elem] * inp", "inp[elem] * imp", "M602"),  # MLX
        ("fmin(a[i], 1.0f);", "fmin(a[i], 1.0f)", "M601"),  # PyTorch
        ("b[i] = 1;", "b[j] = 1;", "M602"),  # metalloid's own
    ],
)
def test_kernels_in_python_are_linted_at_their_own_lines(
    client: Client, tmp_path: Path, right: str, wrong: str, code: str
) -> None:
    text = PYTHON.replace(right, wrong)
    uri = client.open(tmp_path / "wrong.py", text)
    (told,) = client.published(uri)
    assert told["code"] == code
    assert told["range"]["start"]["line"] == place(text, wrong)["line"]
    client.close(uri)


def test_a_kernel_of_pyobjc_is_linted(client: Client, tmp_path: Path) -> None:
    text = (
        'SOURCE = """\nkernel void k(device float* x [[buffer(0)]]) {\n    x[0] = y;\n}\n"""\n'
        "library, error = device.newLibraryWithSource_options_error_(SOURCE, None, None)\n"
    )
    uri = client.open(tmp_path / "objc.py", text)
    (told,) = client.published(uri)
    assert told["code"] == "M602" and told["range"]["start"] == place(text, "y;")
    client.close(uri)


def test_a_quick_fix_works_in_python(client: Client, tmp_path: Path) -> None:
    text = PYTHON.replace("fmin(a[i], 1.0f);", "fmin(a[i], 1.0f)")
    uri = client.open(tmp_path / "fixed.py", text)
    (made,) = actions(client, uri, client.published(uri))
    assert edited(text, made["edit"]["changes"][uri]) == PYTHON
    client.close(uri)


def test_hover_and_definition_work_in_the_strings_and_only_there(client: Client, python: str) -> None:
    assert "left out" in client.at("hover", python, PYTHON, "fmin", 1)["contents"]["value"]
    assert client.at("hover", python, PYTHON, "import torch", 8) is None
    found = client.at("definition", python, PYTHON, "elem] =", 0)
    assert found["range"]["start"] == place(PYTHON, "elem = thread")
    listed = client.at("definition", python, PYTHON, "inp[elem]", 0)
    assert listed["range"]["start"] == place(PYTHON, 'inp"]')


def test_python_that_cannot_be_read_yet_keeps_its_kernels(client: Client, tmp_path: Path) -> None:
    uri = client.open(tmp_path / "broken.py", PYTHON)
    assert client.published(uri) == []
    assert client.at("hover", uri, PYTHON, "fmin", 1) is not None
    text = PYTHON + "x = (\n"
    (told,) = client.published(uri, client.change(uri, text))
    assert "not Python" in told["message"]
    assert client.at("hover", uri, text, "fmin", 1) is not None
    client.close(uri)
