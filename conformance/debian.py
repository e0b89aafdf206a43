"""Fetch the sources of a Debian package by name, with apt and without changing the system's own lists."""

from __future__ import annotations

import re
import shutil
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

from conformance.packages import STORE


@dataclass(frozen=True)
class DebianSource:
    name: str
    keep: str  # only files whose path contains this are unpacked
    version: str = ""  # of the package; the archive's newest without

    @property
    def folder(self) -> Path:
        return STORE / f"debian-{self.name}"


def fetch_source(package: DebianSource) -> Path | None:
    """The unpacked source; downloaded on first use, kept in .conformance/. None where there is no apt."""
    if package.folder.exists():
        return package.folder
    if shutil.which("apt-get") is None:
        return None
    place = STORE / "apt"
    archive = _download(package, place)
    partial = package.folder.with_name(f"{package.folder.name}.partial")
    with tarfile.open(archive) as source:
        for member in source:
            if package.keep in member.name:
                source.extract(member, partial, filter="data")
    partial.rename(package.folder)
    archive.unlink()
    return package.folder


def _download(package: DebianSource, place: Path) -> Path:
    parts = place / "parts"
    parts.mkdir(parents=True, exist_ok=True)
    (place / "lists/partial").mkdir(parents=True, exist_ok=True)
    for list_ in (Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*"))):
        if list_.is_file():
            (parts / list_.name).write_text(_of_sources(list_.read_text()))
    options = [
        *("-o", "Dir::Etc::sourcelist=/dev/null", "-o", f"Dir::Etc::sourceparts={parts}"),
        *("-o", f"Dir::State::lists={place / 'lists'}", "-qq"),
    ]
    wanted = package.name + (f"={package.version}" if package.version else "")
    for command in (["update"], ["source", "--download-only", "--tar-only", wanted]):
        subprocess.run(["apt-get", *options, *command], cwd=place, check=False)
    found = sorted(place.glob(f"{package.name}_*.orig.tar.*"))
    if not found:
        raise SystemExit(
            f"[conformance] apt could not download the source of {wanted}; is the network reachable?"
        )
    return found[-1]


def _of_sources(text: str) -> str:
    """A list of packages as one of their sources."""
    return re.sub(r"^(Types: )?deb(?=\s)", r"\1deb-src", text, flags=re.M)
