"""Which state of metalloid gave a verdict, and on which kind of processor."""

from __future__ import annotations

import subprocess

from conformance.packages import ROOT
from metalloid.backends.cpu import codegen


def commit() -> str:
    """The one that is checked out, with a plus where files differ from it."""
    told = [["rev-parse", "--short=7", "HEAD"], ["status", "--porcelain", "--untracked-files=no", "src"]]
    git = ["git", "-C", str(ROOT)]
    done = [subprocess.run([*git, *rest], capture_output=True, text=True, check=False) for rest in told]
    return done[0].stdout.strip() + ("+" if done[1].stdout.strip() else "")


def processor() -> str:
    return codegen.host().info.name
