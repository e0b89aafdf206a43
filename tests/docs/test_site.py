"""The site: it is built without a warning, no link on it is dead, and a page fetches nothing from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.docs.blocks import ROOT

pytest.importorskip("mkdocs", reason="the extra docs is not installed")
pytest.importorskip("material", reason="the extra docs is not installed")

LOADS = ("script", "img", "source", "link", "iframe")


class Links(HTMLParser):
    """Where a page leads, what it loads, and the names of its places."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.ids: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag in LOADS and given.get("rel") not in ("canonical", "next", "prev"):
            self.loads += [given[name] for name in ("src", "srcset", "href") if name in given]


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(place)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=quiet)
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stderr
    return place


@pytest.fixture(scope="module")
def shown(site) -> dict[Path, Links]:
    return {path: Links(path) for path in site.rglob("*.html")}


def test_no_link_is_dead(site, shown):
    assert len(shown) > 90  # pages and rules
    for path, page in shown.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or path.name == "404.html":
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.is_file(), f"{path.relative_to(site)}: {link}"
            if parts.fragment and target.suffix == ".html":
                assert unquote(parts.fragment) in shown[target].ids, f"{path.relative_to(site)}: {link}"


def test_nothing_is_fetched_from_elsewhere(site, shown):
    for path, page in shown.items():
        away = [link for link in page.loads if urlsplit(link).netloc]
        assert not away, f"{path.relative_to(site)}: {away}"
    for style in site.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        away = [
            link for link in re.findall(r"url\(([^)]*)\)", text) if re.match(r"[\"']?(?:https?:)?//", link)
        ]
        assert not away, style.name
        assert "@import" not in text


def test_every_page_is_in_the_navigation(site):
    first = (site / "index.html").read_text(encoding="utf-8")
    for path in (ROOT / "docs").rglob("*.md"):
        page = (
            path.relative_to(ROOT / "docs")
            .with_suffix(".html")
            .as_posix()
            .replace("README.html", "index.html")
        )
        assert f'href="{page}" class="md-nav__link"' in first, page


def test_code_is_a_block_whatever_its_fence_says(site):
    page = (site / "checking.html").read_text(encoding="utf-8")
    assert "file=scale.metal" not in page and "```" not in page
    assert "highlight" in page and "<table>" in page


def test_the_first_page_is_the_readme_with_its_pictures(site, shown):
    first = shown[site / "index.html"]
    assert "pictures/check.png" in first.loads and "pictures/check-dark.png" in first.loads
    assert any(link == "start/mlx.html" for link in first.links)
