"""The kernels of hashcat, a program that tries passwords, from Debian's source package.

They are written once for four languages; in Metal's, `inc_vendor.h` chooses the words. The host compiles each with the
macros below, which say what processor it is and how many passwords a thread tries side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from conformance.debian import DebianSource, fetch_source
from metalloid.source import Source

PACKAGE = DebianSource("hashcat", r"/OpenCL/[^/]*\.(cl|h)$")
APPLE, GPU, LOCAL_MEMORY = 2, 4, 1
MASK = 3  # the kind of attack: passwords of a pattern
INSIDE, OUTSIDE = 11, 10  # whether a kernel makes its passwords
_LACKS = (
    *("ADD", "ADDC", "SUB", "SUBC", "VADD", "VADDC", "VADD_CO", "VADDC_CO", "VSUB", "VSUBB", "VSUB_CO", "VSUBB_CO"),
    *("VPERM", "VADD3", "VBFE", "BFE", "LOP3", "MOV64", "PRMT"),
)  # fmt: skip


@cache
def folder() -> Path | None:
    """Where the kernels are; None where the package cannot be had."""
    found = fetch_source(PACKAGE)
    return next(iter(found.glob("*/OpenCL")), None) if found is not None else None


def source(file: str, vector: int, compared: Sequence[int], words: int) -> Source:
    """One file as the host compiles it: `vector` passwords side by side; which of a digest's `words` are compared."""
    place = folder()
    assert place is not None
    numbers = {
        "LOCAL_MEM_TYPE": LOCAL_MEMORY,
        "VENDOR_ID": APPLE,
        "DEVICE_TYPE": GPU,
        "CUDA_ARCH": 0,
        **{f"HAS_{name}": 0 for name in _LACKS},
        "VECT_SIZE": vector,
        **{f"DGST_R{n}": word for n, word in enumerate(compared)},
        "DGST_ELEM": words,
        "KERN_TYPE": 0,
        "ATTACK_EXEC": INSIDE if "_a" in file else OUTSIDE,
        "ATTACK_KERN": MASK,
        "ATTACK_MODE": MASK,
    }
    defines = {name: str(number) for name, number in numbers.items()}
    defines |= {"KERNEL_STATIC": "", "XM2S(x)": "#x", "M2S(x)": "XM2S(x)", "INCLUDE_PATH": str(place)}
    return Source((place / file).read_text(), file, include=(place,), defines=defines)
