"""`metalloid cc` and `metalloid c++`: the clang that metalloid carries, with the framework's headers and library.

Flags that only a Mac's clang knows are translated: `-framework Metal` becomes the library, others are left out.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence

from metalloid.errors import MetalloidError
from metalloid.framework.build import INCLUDE, NAME, OBJECTIVE_C, library

FRAMEWORKS = (
    "Metal",
    "Foundation",
    "MetalKit",
    "QuartzCore",
    "CoreFoundation",
    "CoreGraphics",
    "Cocoa",
    "AppKit",
)
_DROPPED = ("-mmacosx-version-min=", "-mtargetos=", "-miphoneos-version-min=", "-fapple-", "-stdlib=")
_DROPPED_PAIRS = ("-arch", "-isysroot", "-F")
_NO_LINK = ("-c", "-S", "-E", "-fsyntax-only", "-M", "-MM", "--version", "-v", "-dumpversion", "-dumpmachine")


def cflags() -> list[str]:
    # metal-cpp asks for __arm64__, which only Apple's compiler defines.
    machine = ["-D__arm64__=1"] if platform.machine() in ("aarch64", "arm64") else []
    return [*OBJECTIVE_C, "-fPIC", "-fno-sanitize=undefined", *machine, f"-isystem{INCLUDE}"]


def libs() -> list[str]:
    folder = library()
    return [f"-L{folder}", f"-l{NAME}", f"-Wl,-rpath,{folder}", "-lpthread", "-ldl", "-lm", "-lunwind"]


def command(arguments: Sequence[str]) -> list[str]:
    """The arguments for zig's cc or c++."""
    kept = translated(arguments)
    links = bool(kept) and not any(flag in _NO_LINK for flag in kept)
    # Behind the user's own: `-x` there must not speak of our library, and a folder of headers comes after theirs.
    return [*kept, *cflags(), *(["-x", "none", *libs()] if links else [])]


def translated(arguments: Sequence[str]) -> list[str]:
    kept: list[str] = []
    rest = iter(arguments)
    for flag in rest:
        if flag in ("-framework", "-weak_framework"):
            _known(next(rest, ""))
        elif flag.startswith("-Wl,-framework,"):
            _known(flag.rsplit(",", 1)[1])
        elif flag in _DROPPED_PAIRS:
            next(rest, "")
        elif flag == "-ObjC" or flag == "-lobjc" or flag.startswith(_DROPPED):
            continue
        else:
            kept.append(flag)
    return kept


def _known(name: str) -> None:
    if name not in FRAMEWORKS:
        raise MetalloidError(
            f"[cc] there is no framework {name or '(none named)'} here; metalloid stands in for"
            f" {', '.join(FRAMEWORKS)}.\n"
            "See docs/forms/framework.md for what of them there is."
        )
