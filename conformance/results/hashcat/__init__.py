"""hashcat's kernels find the passwords of digests that Python's hashlib made."""

from conformance.results.hashcat import masks

FAMILIES = (masks,)
