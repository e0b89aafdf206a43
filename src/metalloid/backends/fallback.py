"""A mistake of ours in a pass must not end a launch: its stages stay for a report, and the kernel runs in baseline
code, or, where that cannot be made either, the slow way."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from metalloid import config
from metalloid.errors import MetalloidError, NotVectorised
from metalloid.hashes import sha256

MOST = 20  # reports that are kept
Stages = Mapping[str, Callable[[], str]]  # each text on the kernel's way, by name, in order


@contextlib.contextmanager
def slow_way(ir: str, what: str, size: object = None, stages: Stages | None = None) -> Iterator[None]:
    """What is not one of metalloid's own errors becomes NotVectorised, with a folder that says how it came to it."""
    try:
        yield
    except (MetalloidError, MemoryError):
        raise
    except Exception as error:
        folder = _left(ir, what, size, stages or {})
        where = f"; its stages are in {folder}" if folder else ""
        raise NotVectorised(
            f"[engine] a mistake of metalloid's in {what}, {type(error).__name__}: {error}{where}"
        ) from error


def warn_of_baseline(error: NotVectorised) -> None:
    """Launches go on; whoever reads warnings can report the mistake."""
    why = " ".join(str(error).removeprefix("[engine] ").split())[:200]
    warnings.warn(f"[engine] there is no good code ({why}): baseline code runs, more slowly.", stacklevel=2)


def _left(ir: str, what: str, size: object, stages: Stages) -> Path | None:
    """Write the stages that can be made and the traceback into a folder; none where the disk does not take them."""
    import traceback

    try:
        root = config.cache_directory() / "reports"
        folder = root / sha256(ir.encode()).hexdigest()[:16]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "kernel.ll").write_text(ir)
        trouble, name = traceback.format_exc(), "ll"
        for name, make in stages.items():
            try:
                (folder / f"kernel.{name}").write_text(make())
            except Exception:  # this is the one that fails
                break
        shape = ",".join(map(str, size)) if isinstance(size, tuple) else "256"
        again = f"metalloid show {folder / 'kernel.ll'} --stage {name} --threadgroup {shape}"
        (folder / "error.txt").write_text(f"in {what}\nagain: {again}\n\n{trouble}")
        import shutil

        for old in sorted(root.iterdir(), key=lambda p: p.stat().st_mtime)[:-MOST]:
            shutil.rmtree(old, ignore_errors=True)
    except OSError:
        return None
    return folder
