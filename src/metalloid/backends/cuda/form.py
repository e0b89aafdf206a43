"""The form that GPU code is made from: canonical, last rounds over tiles apart, sums of products of bytes as one."""

from __future__ import annotations

from collections.abc import Collection

from metalloid.backends.cuda.last_round import last_rounds_apart
from metalloid.ir import Module
from metalloid.ir.intrinsics import ENTRY
from metalloid.ir.layout import data_layout
from metalloid.transforms.byte_dots import byte_dots
from metalloid.transforms.canonicalize import canonical

DOTS = ("ss", "us", "uu")


def gpu_form(ir: str, constant: Collection[int] = ()) -> Module:
    """`constant`: arguments that never change."""
    module = last_rounds_apart(canonical(ir), constant)
    # Loads of bytes are joined where they are proved, and nothing is yet: words are words in the source already.
    made = byte_dots(module.function[ENTRY], DOTS, data_layout(module.datalayout), guard=True)
    return module.with_function(made)
