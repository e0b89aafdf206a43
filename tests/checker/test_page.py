"""The HTML page: what is on it, and how a browser shows it."""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
import zlib
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import metalloid as mt
from metalloid.web.made import command
from tests.checker.reports import TEXT, clean, faulty

VOID = {"meta", "br", "line", "circle"}


class Page(HTMLParser):
    """Elements as they nest; an end tag that fits no start tag is an error."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.texts, self.classes = [], [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given[k] for k in ("href", "src") if k in given]
        self.classes += given.get("class", "").split()
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_the_page_has_source_findings_map_and_timeline():
    report = faulty()
    page = Page(report.html())
    text = "".join(page.texts)
    for number, finding in enumerate(report.findings, 1):
        assert f"finding-{number}" in page.ids and f"#finding-{number}" in page.links
        assert finding.message in text and finding.hint.replace("`", "") in text  # what they enclose is code
    assert '// <sum> & "rows"' in text  # source lines, escaped and back
    assert "timeline" in page.classes and "barrier, line 12" in text
    assert text.count("never written") == 3 + 1  # a square each, and the sentence above the map
    assert "out[2]: thread (128, 0, 0), threadgroup (2, 0, 0)" in text


def test_the_page_needs_nothing_else():
    for report in (faulty(), clean()):
        text = report.html()
        assert not re.search(r"<script|<link|@import|url\(|https?://", text)
        page = Page(text)
        assert all(link.startswith("#") and link[1:] in page.ids for link in page.links if "rule" not in link)
        assert len(page.ids) == len(set(page.ids))


def test_launches_that_are_alike_are_shown_once():
    fill = mt.device().library(TEXT, name="row sum.metal")["fill"]
    with mt.checked() as report:
        for size in (24, 24, 24, 32):
            fill(np.zeros(size, np.float32), grid=size, threadgroup=8)
    page = Page(report.html())
    text = "".join(page.texts)
    assert page.classes.count("launch") == page.classes.count("map") == 2
    assert "3 launches alike" in text and "4 launches, 104 threads checked" in text


def test_a_clean_page_says_so():
    page = Page(clean().html())
    text = "".join(page.texts)
    assert "no findings" in text and "every one of 24 elements was written" in text
    assert "never" not in page.classes
    assert "kernel void fill" in text and "every one of the 24 elements of 'out' was written" in text
    assert "no" not in page.classes  # that all values are one is a remark, no mistake


def test_the_page_says_when_by_which_version_and_by_which_command_it_was_made(monkeypatch):
    monkeypatch.setattr(
        "sys.orig_argv", ["/usr/bin/python3", "/opt/bin/metalloid", "check", "a b.py", "--html", "x"]
    )
    (line,) = re.findall(r'<p class="made">(.*?)</p>', clean().html())
    assert re.fullmatch(
        r'<time datetime="\d{4}-\d\d-\d\dT[^"]+">\d{4}-\d\d-\d\d \d\d:\d\d [^<]+</time> &middot; metalloid '
        + re.escape(mt.__version__)
        + r" &middot; <code>metalloid check &#x27;a b.py&#x27; --html x</code>",
        line,
    )


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["python", "train.py", "--steps", "3"], "python train.py --steps 3"),
        (["/x/python3.11", "-m", "pytest", "tests"], "pytest tests"),
        (["python", "-m", "train"], "python -m train"),
        (["python", "-m", "ipykernel_launcher", "-f", "/run/kernel.json"], ""),
        (["python"], ""),
    ],
)
def test_commands_read_as_they_were_typed(words, shown):
    assert command(words) == shown


def test_kernels_inside_functions_are_shown_without_their_indentation():
    kernel = mt.device().library("""
                kernel void deep(device float* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
                    out[i] = 1;
                }
    """)["deep"]
    text = "".join(Page(mt.check(kernel, np.zeros(4, np.float32), grid=8).html()).texts)
    assert re.search(r"\d+kernel void deep.*\n\d+    out\[i\] = 1;", text)


def test_lines_of_a_chain_are_those_of_the_file_that_the_kernel_is_written_in():
    kernel = mt.device().library("""
        kernel void ones(device float* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
            out[i] = 1;
        }
    """)["ones"]
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    first = next(n for n, line in enumerate(lines) if line.startswith("        kernel void ones("))
    text = mt.check(kernel, np.zeros(4, np.float32), grid=4).explain().text()
    assert f"stores to 'out' ran: line {first + 2} (4 times)" in text
    assert f"the value stored in line {first + 2} does not depend on the thread" in text


def test_words_in_backquotes_are_code_on_the_page_and_one_store_ran_once():
    kernel = mt.device().library("""
        kernel void turn(device const float* x [[buffer(0)]], device float* out [[buffer(1)]],
                         uint i [[thread_position_in_threadgroup]]) {
            threadgroup float row[64];
            row[i] = x[i];
            if (i == 0) out[0] = row[63];
        }
    """)["turn"]
    report = mt.check(kernel, np.ones(64, np.float32), np.zeros(1, np.float32), grid=64, threadgroup=64)
    page = report.html()
    assert "`if`" in report.findings[0].hint
    assert "outside any <code>if</code>" in page and "`if`" not in page
    assert "(once)" in page and "(1 times)" not in page


def test_severities_have_colours_of_their_own():
    kernel = mt.device().library(
        """
kernel void total(device const half* x, device half* out, constant uint& n, uint i [[thread_position_in_grid]]) {
    half sum = 0;
    for (uint k = 0; k < n; k++) sum += x[i * n + k];
    out[i] = sum;
}
""",
        name="total.metal",
    )["total"]
    x, out = np.full(8 * 1024, 0.3, np.float16), np.zeros(8, np.float16)
    report = mt.check(kernel, x, out, 1024, grid=8, threadgroup=8)
    assert {"warning", "note"} == {f.severity for f in report.findings}
    html = report.html()
    assert '<header class="worth">' in html
    assert '<span class="chip warning">1 warning</span><span class="chip note">1 note</span>' in html
    assert '<div class="line marked warning">' in html
    style = html.split("<style>")[1].split("</style>")[0]
    backs = re.findall(r"\.marked\.(\w+) \{ background: var\((--\w+)-back\)", style)
    assert dict(backs) == {"error": "--bad", "warning": "--warn", "note": "--note"}


def test_every_launch_says_why_its_result_is_as_it_is():
    page = Page(faulty().html())
    assert page.classes.count("why") == page.classes.count("launch") == 1
    text = "".join(page.texts)
    assert "only 5 of 8 elements of 'out' were written; not 5 to 7" in text


# In a browser


BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None
)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no chromium or chrome on PATH")


def shot(tmp_path, text, scheme="light", width=420, height=480):
    """What a headless browser shows, as rows of RGB; and the page's text as it lays it out."""
    page, picture = tmp_path / "page.html", tmp_path / f"{scheme}.png"
    page.write_text(text, encoding="utf-8")
    command = [
        BROWSER,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        f"--user-data-dir={tmp_path / 'profile'}",
        f"--blink-settings=preferredColorScheme={0 if scheme == 'dark' else 1}",
        f"--window-size={width},{height}",
        f"--screenshot={picture}",
        page.as_uri(),
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return pixels(picture.read_bytes())


def pixels(png):
    """The rows of a PNG, as bytes of three or four per pixel, without its filters."""
    at, data = 8, b""
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        kind, body = png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
            assert depth == 8
            each = {2: 3, 6: 4}[colour]
        data += body if kind == b"IDAT" else b""
        at += 12 + length
    raw, stride = zlib.decompress(data), width * each
    rows, above = [], bytearray(stride)
    for y in range(height):
        kind, row = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1 : (y + 1) * (stride + 1)])
        for x in range(stride):
            left = row[x - each] if x >= each else 0
            up, corner = above[x], above[x - each] if x >= each else 0
            row[x] = (row[x] + (0, left, up, (left + up) // 2, _paeth(left, up, corner))[kind]) & 255
        rows.append([tuple(row[x : x + 3]) for x in range(0, stride, each)])
        above = row
    return rows


def _paeth(left, up, corner):
    guess = left + up - corner
    return min((left, up, corner), key=lambda v: (abs(guess - v), (left, up, corner).index(v)))


def brightness(rows):
    sample = [sum(pixel) / 3 for row in rows[::20] for pixel in row[::20]]
    return sum(sample) / len(sample)


@needs_browser
def test_a_browser_shows_it_light_and_dark(tmp_path):
    text = faulty().html()
    light, dark = shot(tmp_path, text), shot(tmp_path, text, "dark")
    assert brightness(light) > 200 and brightness(dark) < 80
    for rows in (light, dark):  # the bar beside the verdict is red on both
        assert [p for row in rows[20:90] for p in row[10:60] if p[0] > 150 and p[0] > max(p[1:]) + 40]


@needs_browser
def test_a_browser_draws_the_map_in_a_colour_per_threadgroup(tmp_path):
    html = re.sub(r'<section class="source">.*?</section>', "", clean().html(), flags=re.DOTALL)
    rows = shot(tmp_path, html)  # without the source the map is near the top
    strong = [p for row in rows for p in row if max(p) - min(p) > 60]
    hues = {colour for colour in set(strong) if strong.count(colour) > 200}
    assert len(hues) >= 3 + 1  # three threadgroups, and the green of the verdict


MEASURE = """<script>addEventListener("load", () => {
  const boxes = [...document.querySelectorAll("SELECTOR")].map(e => e.getBoundingClientRect());
  document.body.dataset.sizes = JSON.stringify(boxes.map(b => [b.width, b.height]));
  document.body.dataset.wide = document.documentElement.scrollWidth - innerWidth;
})</script>"""


def laid_out(tmp_path, text, selector, width=420):
    """Sizes of everything a selector finds, and by how much the page is wider than the window.

    A script that only this test adds measures the page and writes the numbers into it."""
    page = tmp_path / "page.html"
    script = MEASURE.replace("SELECTOR", selector)
    page.write_text(text.replace("</body>", script + "</body>"), encoding="utf-8")
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    command += [
        f"--user-data-dir={tmp_path / 'profile'}",
        f"--window-size={width},900",
        "--dump-dom",
        page.as_uri(),
    ]
    shown = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
    sizes = re.search(r'data-sizes="([^"]*)"', shown)[1].replace("&quot;", '"')
    return json.loads(sizes), int(re.search(r'data-wide="(-?\d+)"', shown)[1])


@needs_browser
@pytest.mark.parametrize(("width", "drawn"), [(1200, "broad"), (420, "narrow")])
def test_a_browser_lays_out_every_part(tmp_path, width, drawn):
    parts = ["header", "nav", ".line.marked", ".finding", ".map", ".hint", ".chain"]
    parts += [f".timeline.{drawn}", f".timeline.{drawn} text"]
    sizes, wider = laid_out(tmp_path, faulty().html(), ", ".join(parts), width)
    shown = [(wide, high) for wide, high in sizes]
    assert len(shown) >= len(parts) and wider <= 0
    assert all(wide > 25 and high > 12 for wide, high in shown), shown  # letters of a drawing too can be read
