"""What the front end makes."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from metalloid.records import dataclass
from metalloid.types import Signature

# How much of its source clang reads for a kernel: all of it, which shows mistakes anywhere; all but the bodies of other
# kernels; or, of a source without mistakes, what the kernel needs.
Reading = Literal["whole", "others declared", "needed"]


@dataclass(frozen=True)
class Kernel:
    """One kernel, compiled."""

    ir: str
    signature: Signature
    files: tuple[Path, ...] = ()  # what was included
