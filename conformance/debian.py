"""Fetch the sources of a Debian package by name, with apt and without changing the system's own lists."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

from conformance.packages import STORE


@dataclass(frozen=True)
class DebianSource:
    name: str
    keep: str  # only files in whose path this pattern is found are unpacked
    release: str = ""  # of Debian; the machine's own without

    @property
    def folder(self) -> Path:
        return STORE / f"debian-{self.name}"


def fetch_source(package: DebianSource) -> Path | None:
    """The unpacked source; downloaded on first use, kept in .conformance/. None where it cannot be had."""
    if package.folder.exists():
        return package.folder
    if shutil.which("apt-get") is None:
        return None
    archive = _download(package, STORE / f"apt{'-' * bool(package.release)}{package.release}")
    if archive is None:
        return None
    partial = package.folder.with_name(f"{package.folder.name}.partial")
    with tarfile.open(archive) as source:
        for member in source:
            if re.search(package.keep, member.name):
                source.extract(member, partial, filter="data")
    partial.rename(package.folder)
    archive.unlink()
    return package.folder


def _download(package: DebianSource, place: Path) -> Path | None:
    parts = place / "parts"
    parts.mkdir(parents=True, exist_ok=True)
    (place / "lists/partial").mkdir(parents=True, exist_ok=True)
    for list_ in (Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*"))):
        if list_.is_file():
            (parts / list_.name).write_text(_of_sources(list_.read_text(), package.release))
    options = [
        *("-o", "Dir::Etc::sourcelist=/dev/null", "-o", f"Dir::Etc::sourceparts={parts}"),
        *("-o", f"Dir::State::lists={place / 'lists'}", "-qq"),
    ]
    for command in (["update"], ["source", "--download-only", "--tar-only", package.name]):
        subprocess.run(["apt-get", *options, *command], cwd=place, check=False)
    found = sorted(place.glob(f"{package.name}_*.orig.tar.*"))
    if not found:
        print(
            f"[conformance] apt could not download the source of {package.name}; is the network reachable? "
            "Its kernels are left out.",
            file=sys.stderr,
        )
        return None
    return found[-1]


def _of_sources(text: str, release: str) -> str:
    """A list of packages as one of their sources, of another release where one is named."""
    text = re.sub(r"^(Types: )?deb(?=\s)", r"\1deb-src", text, flags=re.M)
    if not release:
        return text
    text = "\n\n".join(part for part in text.split("\n\n") if "-security" not in part)
    text = re.sub(r"^Suites:.*", f"Suites: {release}", text, flags=re.M)
    return re.sub(r"^(deb-src(?: \[.*?\])? \S+) \S+", rf"\1 {release}", text, flags=re.M)
