"""Lines of PTX lead to the source; no GPU is needed to make it."""

from __future__ import annotations

import pytest

from metalloid import backends
from metalloid.compile import scalar
from metalloid.source import Source
from tests.engine.test_lines import HEAD, KERNELS


@pytest.mark.parametrize("text", KERNELS.values(), ids=KERNELS)
def test_ptx_is_the_same_and_knows_its_lines(text: str) -> None:
    ir, cuda = scalar(Source(HEAD + text, name="k.metal"), "k")[0], backends.named("cuda")
    lined = cuda.lined("ptx", ir, (64, 1, 1))
    assert lined.text.rstrip() == cuda.stages["ptx"](ir, (64, 1, 1)).rstrip()
    written = (HEAD + text).split("\n")
    for line, place in zip(lined.text.split("\n"), lined.places, strict=True):
        if "st.global" in line:
            assert place is not None and place.file == "k.metal" and "x[i] = " in written[place.line - 1]
        if "st.shared.b32" in line and place is not None:
            assert "tile[" in written[place.line - 1]
    assert any(lined.places)
