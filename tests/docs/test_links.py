"""Links lead somewhere, commands exist, numbers are those of the pages that commands write."""

from __future__ import annotations

import re

import pytest

from metalloid.cli import COMMANDS
from tests.docs.blocks import ROOT, Page, pages

PAGES = pages()
RULES = [Page(path) for path in sorted((ROOT / "src" / "metalloid" / "rules").glob("M*.md"))]


def anchors(page: Page) -> set[str]:
    """The names that a heading can be linked by."""
    heads = re.findall(r"^#+ (.*)$", page.prose, re.MULTILINE)
    bare = (re.sub(r"[`*]|\[([^]]*)\]\([^)]*\)", r"\1", head).lower() for head in heads)
    return {re.sub(r"[^\w\- ]", "", head).strip().replace(" ", "-") for head in bare}


@pytest.mark.parametrize("page", [*PAGES, *RULES], ids=lambda page: page.name)
def test_links_lead_somewhere(page: Page):
    prose = re.sub(r"`[^`\n]*`", "", page.prose)
    links = re.findall(r"\]\(([^)\s]+)\)", prose) + re.findall(r'(?:src|srcset|href)="([^"]+)"', prose)
    for link in links:
        if re.match(r"https?://", link):
            continue
        name, _, anchor = link.partition("#")
        file = (page.path.parent / name).resolve() if name else page.path
        assert file.exists(), f"{page.name}: {link}"
        assert file.is_relative_to(ROOT)
        if anchor:
            assert anchor in anchors(Page(file)), f"{page.name}: {link}"


def test_every_page_can_be_reached_from_the_readme():
    known = {page.path: page for page in PAGES}
    waiting, reached = [ROOT / "README.md"], set()
    while waiting:
        path = waiting.pop()
        if path in known and path not in reached:
            reached.add(path)
            links = re.findall(r"\]\(([^)#\s]+)[)#]", known[path].prose)
            waiting += [(path.parent / link).resolve() for link in links]
    assert {known[path].name for path in known.keys() - reached} == set()


def test_files_that_pages_name_are_there():
    for page in PAGES:
        for name in re.findall(r"`((?:examples|bench|docs|src/metalloid)/[\w/.-]+\.\w+)`", page.prose):
            assert "NAME" in name or (ROOT / name).exists(), f"{page.name}: {name}"


def test_commands_exist():
    for page in PAGES:
        if "/design/" in page.name:  # drawings begin lines with anything
            continue
        fenced = "\n".join(block.text for block in page.blocks if block.language != "output")
        named = re.findall(r"^(?:\$ )?metalloid ([\w+]+)", fenced, re.MULTILINE)
        named += re.findall(r"`(?:\$ )?metalloid ([a-z+]+)", page.prose)
        assert set(named) <= set(COMMANDS), page.name


def test_make_targets_and_modules_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for page in PAGES:
        for target in re.findall(r"`make (\w+)`", page.prose):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"{page.name}: make {target}"
        for module in re.findall(r"`python -m ((?:docsite|bench|conformance|tests)[\w.]*)", page.prose):
            path = ROOT / module.replace(".", "/")
            assert path.is_dir() or path.with_suffix(".py").is_file(), f"{page.name}: {module}"


def test_numbers_of_support_are_the_same_elsewhere():
    support = (ROOT / "docs" / "support.md").read_text(encoding="utf-8")
    compiled = dict(re.findall(r"^\| ([\w -]+?) (?:\(|kernel).*\| (\d+) \| \d+ \|$", support, re.MULTILINE))
    ran = max(map(int, re.findall(r"^\| ggml \| [\w-]+ \| \d+ \| \d+ \| (\d+) \|$", support, re.MULTILINE)))
    readme, llama = ((ROOT / name).read_text() for name in ("README.md", "docs/start/llama-cpp.md"))
    assert f"{compiled['ggml-metal']} of {compiled['ggml-metal']} kernels of ggml" in readme
    assert f"{compiled['MLX']} of {compiled['MLX']} of MLX's headers" in readme
    assert f"All {compiled['ggml-metal']} kernels" in llama and f"{ran} cases" in llama
