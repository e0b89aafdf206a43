"""Flags of a Mac's clang, `metalloid config`, and the stand-ins for xcrun's tools."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from metalloid.cli import group
from metalloid.errors import MetalloidError
from metalloid.framework import driver, tools
from metalloid.framework.container import opened
from metalloid.runtime.datatypes import constant_of


def test_flags_of_a_mac_are_translated() -> None:
    given = "-arch arm64 -mmacosx-version-min=14.0 -framework Metal -Wl,-framework,Foundation -O2 a.m -o a".split()
    assert driver.translated(given) == ["-O2", "a.m", "-o", "a"]


def test_a_framework_that_is_not_there_is_named() -> None:
    with pytest.raises(MetalloidError, match="there is no framework Accelerate here"):
        driver.translated(["-framework", "Accelerate"])


def test_compiling_alone_links_nothing() -> None:
    assert not [word for word in driver.command(["-c", "a.m"]) if word.startswith("-l")]


def test_config_says_what_a_build_needs() -> None:
    result = CliRunner().invoke(group, ["config", "--cflags", "--include"])
    assert result.exit_code == 0
    assert "-fobjc-runtime=gnustep-1.9" in result.output and "-fblocks" in result.output
    assert CliRunner().invoke(group, ["config"]).exit_code == 2


KERNEL = """#include <metal_stdlib>
#include "scale.h"
kernel void scaled(device float *out [[buffer(0)]], uint i [[thread_position_in_grid]]) { out[i] = SCALE * BY * i; }
"""


def test_xcrun_keeps_sources_in_a_library_that_loads(tmp_path: Path) -> None:
    (tmp_path / "scale.h").write_text("#pragma once\n#define SCALE 3.0f\n")
    (tmp_path / "a.metal").write_text(KERNEL)
    (tmp_path / "b.metal").write_text("kernel void other(device int *out [[buffer(0)]]) { out[0] = 5; }\n")
    for name in ("a", "b"):
        source, air = str(tmp_path / f"{name}.metal"), str(tmp_path / f"{name}.air")
        assert tools.xcrun(["-sdk", "macosx", "metal", "-O3", "-DBY=2", "-c", source, "-o", air]) == 0
    library = tmp_path / "default.metallib"
    assert (
        tools.xcrun(["metallib", str(tmp_path / "a.air"), str(tmp_path / "b.air"), "-o", str(library)]) == 0
    )
    loaded = opened(library.read_bytes(), "default.metallib")
    assert loaded.kernels == ("scaled", "other")
    out = np.full(8, -1, np.float32)
    loaded.kernel("scaled")(out, grid=8, threadgroup=8)
    assert out.tolist() == [6.0 * i for i in range(8)]
    with pytest.raises(MetalloidError, match="Function nothing was not found"):
        loaded.kernel("nothing")


def test_xcrun_tells_mistakes_where_they_are(tmp_path: Path) -> None:
    source = tmp_path / "wrong.metal"
    source.write_text("kernel void k(device int *out [[buffer(0)]]) { out[0] = nothing; }\n")
    with pytest.raises(MetalloidError, match=r"wrong\.metal:1:57"):
        tools.xcrun(["metal", "-c", str(source), "-o", str(tmp_path / "wrong.air")])


def test_a_tool_that_is_not_there_is_named() -> None:
    with pytest.raises(MetalloidError, match="there is no clang here"):
        tools.xcrun(["-sdk", "macosx", "clang"])


@pytest.mark.parametrize(
    ("type", "data", "value"),
    [
        (3, np.float32(1.5), 1.5),
        (16, np.float16(0.5), 0.5),
        (29, np.int32(-7), -7),
        (41, np.uint16(65535), 65535),
    ],
)
def test_constants_are_read_by_their_type(type: int, data: np.generic, value: float) -> None:
    assert constant_of(type, data.tobytes().ljust(16, b"\xff")) == value


def test_booleans_and_bfloats_are_read() -> None:
    assert constant_of(53, b"\1" + b"\0" * 15) is True
    assert constant_of(121, b"\xc0\x3f" + b"\0" * 14) == 1.5
    assert constant_of(4, b"\0\0\xc0\x3f" + b"\0" * 12) == (1.5, 0.0)
    with pytest.raises(MetalloidError, match="MTLDataType 7"):  # a matrix
        constant_of(7, b"\0" * 16)
