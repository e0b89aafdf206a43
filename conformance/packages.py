"""Fetch the packages whose kernels are compiled, by name and version."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STORE = ROOT / ".conformance"
WHEEL = ("--only-binary", ":all:")


@dataclass(frozen=True)
class Package:
    name: str
    version: str
    options: tuple[str, ...]
    keep: tuple[str, ...]  # only paths that contain one of these are unpacked
    part: str = ""  # of a package that is unpacked in parts

    @property
    def folder(self) -> Path:
        return STORE / f"{self.name}-{self.version}{'-' * bool(self.part)}{self.part}"


LLAMA = Package(
    "llama-cpp-python",
    "0.3.36",
    ("--no-binary", "llama-cpp-python"),
    ("ggml/src/ggml-metal/", "ggml/src/ggml-common.h"),
)
MLX = Package("mlx-metal", "0.32.4", (*WHEEL, "--platform", "macosx_14_0_arm64"), ("mlx/include/",))
MLX_LIBRARY = Package("mlx-metal", "0.32.4", MLX.options, ("mlx/lib/mlx.metallib",), "library")
MLX_LIBRARY_26 = Package(
    "mlx-metal",
    "0.32.4",
    (*WHEEL, "--platform", "macosx_26_0_arm64"),
    ("mlx/lib/mlx.metallib",),
    "library-26",
)
TORCH = Package(
    "torch",
    "2.15.0",
    (*WHEEL, "--platform", "macosx_14_0_arm64", "--python-version", "3.12"),
    ("lib/libtorch_cpu.dylib",),
)
MLX_LM = Package("mlx-lm", "0.32.2", WHEEL, (".py",))
MLX_VLM = Package("mlx-vlm", "0.7.10", WHEEL, (".py",))


def fetch(package: Package) -> Path:
    """The unpacked package; downloaded on first use, kept in .conformance/."""
    if not package.folder.exists():
        archive = _archive(package) or _download(package)
        partial = package.folder.with_name(f"{package.folder.name}.partial")
        _unpack(archive, partial, package.keep)
        partial.rename(package.folder)
    return package.folder


def _archive(package: Package) -> Path | None:
    stem = f"{package.name.replace('-', '_')}-{package.version}"
    system = next((word for word in package.options if word.startswith("macosx_")), "")
    found = (p for p in sorted(STORE.glob(f"{stem}*")) if p.suffix in (".whl", ".gz") and system in p.name)
    return next(found, None)


def _download(package: Package) -> Path:
    STORE.mkdir(exist_ok=True)
    requirement = f"{package.name}=={package.version}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(STORE)]
    subprocess.run([*command, *package.options, requirement], check=False)
    archive = _archive(package)
    if archive is None:
        raise SystemExit(f"[conformance] pip could not download {requirement}; is the network reachable?")
    return archive


def _unpack(archive: Path, folder: Path, keep: tuple[str, ...]) -> None:
    def wanted(name: str) -> bool:
        return any(part in name for part in keep) and ".." not in Path(name).parts

    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            wheel.extractall(folder, [n for n in wheel.namelist() if wanted(n)])
    else:
        with tarfile.open(archive) as sdist:
            sdist.extractall(folder, [m for m in sdist.getmembers() if wanted(m.name)], filter="data")
