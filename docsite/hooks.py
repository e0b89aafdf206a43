"""MkDocs' hooks: the README is the first page, rules have theirs, and links between files are links between pages.

In the repository pages link to files, as GitHub shows them. On the site, `README.md` is `index.md`, and the pages of
the rules, which are part of the package, are below `rules/`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
# Pages that are not below docs/, and what they are called on the site.
OUTSIDE = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
RULES = ROOT / "src" / "metalloid" / "rules"
EXAMPLES = ROOT / "examples"
# Words after a fence that say how an example is run, and languages that highlighting knows by another name.
_FENCE = re.compile(r"^( *```)(\w+)(?: [^\n`]*)?$", re.MULTILINE)
_LANGUAGES = {"metal": "cpp", "output": "text", "objc": "objective-c"}
_LINK = re.compile(r"(\]\(|(?:src|srcset|href)=\")([^)\"#:]+)(#[^)\"]*)?(?=[)\"])")
_WHOLE = re.compile(r"(?<!!)\[([^]\n]*)\]\(([^)#:\s]+)\)")


# Where a page goes that mkdocs.yml does not name, by its folder.
SECTIONS = {"design": "Change it", "forms": "Use it", "start": "Start"}
OTHERWISE = "Look it up"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """A page that mkdocs.yml does not name comes last in the section of its folder, under its own title."""
    named = set(re.findall(r"[\w/.-]+\.md", str(config.nav)))
    sections = {name: pages for entry in config.nav for name, pages in entry.items()}
    for path in sorted((ROOT / "docs").rglob("*.md")):
        page = path.relative_to(ROOT / "docs").as_posix()
        if page not in named:
            title = path.read_text(encoding="utf-8").splitlines()[0].lstrip("# ").replace("`", "")
            sections[SECTIONS.get(page.split("/")[0], OTHERWISE)].append({title: page})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what lies outside docs/."""
    pages = {ROOT / name: page for name, page in OUTSIDE.items()}
    pages |= {path: f"rules/{path.name}" for path in sorted(RULES.glob("M*.md"))}
    for path in sorted(EXAMPLES.iterdir()):
        if path.is_file():
            files.append(File.generated(config, f"examples/{path.name}", content=path.read_bytes()))
    for path, page in pages.items():
        text = path.read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=_linked(text, path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: object) -> str:
    """Links to files outside docs/ lead to their pages."""
    source = ROOT / "docs" / page.file.src_uri
    text = _linked(markdown, source) if source.is_file() else markdown
    return _FENCE.sub(_language, text)


def _language(fence: re.Match[str]) -> str:
    return fence[1] + _LANGUAGES.get(fence[2], fence[2])


def _linked(text: str, path: Path) -> str:
    """The text of a page with its links as they are on the site; code stays as it is.

    A link to what is part of the repository and not of the site (a folder, a program) is text there.
    """
    at = _place(path)
    text = _WHOLE.sub(lambda m: m[1] if _elsewhere(m[2], path) else m[0], text)
    parts = re.split(r"(^```.*?^```$|`[^`\n]*`)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(
        part if n % 2 else _LINK.sub(lambda m: m[1] + _target(m[2], path, at) + (m[3] or ""), part)
        for n, part in enumerate(parts)
    )


def _elsewhere(link: str, path: Path) -> bool:
    target = (path.parent / link).resolve()
    return target.is_dir() or (target.is_file() and target.is_relative_to(ROOT) and not _place(target))


def _target(link: str, path: Path, at: str) -> str:
    file = (path.parent / link).resolve()
    if not file.is_file() or not file.is_relative_to(ROOT):
        return link
    place = _place(file)
    if not place:  # part of the repository, not of the site
        return link
    here = at.split("/")[:-1]
    there = place.split("/")
    while here and there[:-1] and here[0] == there[0]:
        here, there = here[1:], there[1:]
    return "/".join([".."] * len(here) + there)


def _place(path: Path) -> str:
    """Where a file is on the site; empty where it is not."""
    name = path.relative_to(ROOT).as_posix()
    if name in OUTSIDE:
        return OUTSIDE[name]
    if path.parent == RULES and path.suffix == ".md":
        return f"rules/{path.name}"
    if path.parent == EXAMPLES:
        return name
    return name.removeprefix("docs/") if name.startswith("docs/") else ""
