"""Every kernel of the library, for every dtype and format, gives on the engine what it gives on the oracle."""

from __future__ import annotations

import pytest

from tests.kernels.everything import every_call
from tests.kernels.helpers import same_on_oracle

CALLS = every_call()
# Operations on plain arrays are held against the oracle where their other tests are; all of them again takes minutes.
KINDS = ("q4", "q6", "q8", "affine", "norm and product", "gate_up", "rotate")
LONG = ("q4_K", "q6_K", "_K product, float16", "_K product, bfloat16")
QUICK = [name for name in CALLS if name.startswith(KINDS) and not name.endswith(LONG)]


@pytest.mark.parametrize("name", QUICK)
def test_same_on_the_oracle(name):
    same_on_oracle(CALLS[name], tolerance=1e-5)


@pytest.mark.fuzz
@pytest.mark.parametrize("name", [name for name in CALLS if name not in QUICK])
def test_same_on_the_oracle_with_every_dtype(name):
    same_on_oracle(CALLS[name], tolerance=1e-5)
