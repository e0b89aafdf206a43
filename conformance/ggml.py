"""ggml-metal: llama.cpp's kernels, one library per .metal file, as its build makes them.

bfloat is on; the tensor path (`GGML_METAL_HAS_TENSOR`, Metal 4's matrix units) is off.
"""

from __future__ import annotations

from conformance.cases import Case
from conformance.packages import LLAMA, fetch
from metalloid.frontend import find_kernels
from metalloid.source import Source

# Parts that other files include; they hold templates but no kernel of their own.
SHARED = ("fa_common", "fa_vec_common")
DEFINES = {"GGML_METAL_HAS_BF16": "1"}


def cases() -> list[Case]:
    sources = next(fetch(LLAMA).glob("*/vendor/llama.cpp/ggml/src"))
    metal = sources / "ggml-metal"
    found = []
    for path in sorted((metal / "kernels").glob("*.metal")):
        if path.stem in SHARED:
            continue
        source = Source.from_file(path, include=(metal / "kernels", metal, sources), defines=DEFINES)
        names = [entry.name for entry in find_kernels(source)]
        found += [Case("ggml", path.name, name, ((source, name),)) for name in names]
    return found
