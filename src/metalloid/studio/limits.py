"""What a job may use: kernels are other people's texts, and one mistake in them must not take the machine."""

from __future__ import annotations

import sys

MEMORY = 4 << 30  # bytes of a worker and of each compiler it starts
ARRAYS = 256 << 20  # bytes of all arrays of one launch
THREADS = 1 << 22  # of one launch
TEXT = 1 << 20  # bytes of a request
ANSWER = 32 << 20  # bytes of an answer
SECONDS = {"diagnose": 20.0, "launch": 40.0, "stage": 60.0, "measure": 60.0}  # until a worker is ended
OBSERVED = 12.0  # seconds of a checked launch itself


def confine() -> None:
    """Called in a worker before it does anything; children inherit it.

    On Linux private memory is counted, and address space is not: a GPU's driver reserves hundreds of gigabytes of it.
    Where the system has no such limit (Windows), time is what is left.
    """
    try:
        import resource
    except ImportError:
        return
    kind = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS
    try:
        _, most = resource.getrlimit(kind)
        wanted = MEMORY if most == resource.RLIM_INFINITY else min(MEMORY, most)
        resource.setrlimit(kind, (wanted, wanted))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ValueError, OSError):  # macOS refuses RLIMIT_AS below what is mapped already
        return
