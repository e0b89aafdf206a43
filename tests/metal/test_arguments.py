"""Argument buffers that a list describes, or that lie behind another's pointer; function constants that are vectors."""

from __future__ import annotations

import struct

import numpy as np
import pytest

import metalloid as mt
import metalloid.metal
from metalloid.air.given import initial
from metalloid.errors import LaunchError, MetalloidError
from metalloid.ir.types import FLOAT as F32
from metalloid.ir.types import VectorType
from metalloid.runtime.argument_layout import Described, described_encoder
from metalloid.runtime.datatypes import constant_of, data_type, declared_constants, type_of
from metalloid.types import DType, Matrix, Scalar, Vector

FLOAT, FLOAT3, UINT2, POINTER, TEXTURE = 3, 5, 34, 60, 58
SOURCE = """#include <metal_stdlib>
using namespace metal;
constant float3 weight [[function_constant(0)]];
struct Inner { device float* values; float by; };
struct Outer { device Inner* inner [[id(0)]]; uint2 at [[id(1)]]; device float* out[2] [[id(2)]]; };
kernel void k(device Outer& all [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    all.out[1][i] = all.inner->values[i + all.at.y] * all.inner->by + weight.x + weight.z;
}
"""


def test_a_list_lies_in_memory_as_the_kernels_struct_does() -> None:
    kernel = mt.device("cpu").library(SOURCE).kernel("k", {"weight": (1, 2, 3)})
    listed = described_encoder([Described(POINTER, 2, 2), Described(UINT2, 1), Described(POINTER)])
    own = kernel.argument_encoder(0)
    assert {n: at for n, (_, at) in listed.members.items()} == {n: at for n, (_, at) in own.members.items()}
    assert listed.encoded_length == own.encoded_length == 32 and listed.alignment == own.alignment == 8
    apart = described_encoder([Described(FLOAT, 0), Described(FLOAT, 4, alignment=64)])
    assert [at for _, at in apart.members.values()] == [0, 64] and apart.encoded_length == 128


@pytest.mark.parametrize(
    "members, words",
    [
        ([Described(TEXTURE)], "index 0 has MTLDataType 58; metalloid's argument buffers hold pointers"),
        ([Described(POINTER, 0, 3), Described(FLOAT, 2)], "index 2 is described twice"),
        ([], "there are no arguments to encode"),
    ],
)
def test_what_is_no_argument_buffer_is_refused(members: list[Described], words: str) -> None:
    with pytest.raises(LaunchError, match=words):
        described_encoder(members)


def test_a_program_with_an_argument_buffer_inside_another() -> None:
    with metalloid.metal.installed():
        import Metal
    device = Metal.MTLCreateSystemDefaultDevice()
    library, error = device.newLibraryWithSource_options_error_(SOURCE, None, None)
    assert error is None
    assert library.newFunctionWithName_("k").functionConstantsDictionary()["weight"].type() == FLOAT3
    constants = Metal.MTLFunctionConstantValues.alloc().init()
    constants.setConstantValue_type_atIndex_(struct.pack("4f", 1, 20, 300, 0), Metal.MTLDataTypeFloat3, 0)
    function, error = library.newFunctionWithName_constantValues_error_("k", constants, None)
    assert error is None
    outer = function.newArgumentEncoderWithBufferIndex_(0)
    inner = outer.newArgumentEncoderForBufferAtIndex_(0)
    with pytest.raises(Exception, match="is uint2, no pointer to a struct"):
        outer.newArgumentEncoderForBufferAtIndex_(1)

    def descriptor(kind: int, index: int, length: int = 0):
        made = Metal.MTLArgumentDescriptor.argumentDescriptor()
        made.setDataType_(kind)
        made.setIndex_(index)
        made.setArrayLength_(length)
        return made

    listed = [descriptor(POINTER, 0), descriptor(UINT2, 1), descriptor(POINTER, 2, 2)]
    outer = device.newArgumentEncoderWithArguments_(listed)
    table, below, given, found = (device.newBufferWithLength_options_(n, 0) for n in (32, 16, 64, 64))
    np.frombuffer(given.contents().as_buffer(64), np.float32)[:] = np.arange(16)
    inner.setArgumentBuffer_offset_(below, 0)
    inner.setBuffer_offset_atIndex_(given, 0, 0)
    inner.constantDataAtIndex_(1).as_buffer(4)[:] = struct.pack("f", 10)
    outer.setArgumentBuffer_offset_(table, 0)
    outer.setBuffer_offset_atIndex_(below, 0, 0)
    outer.constantDataAtIndex_(1).as_buffer(8)[:] = struct.pack("2I", 9, 2)
    outer.setBuffer_offset_atIndex_(found, 0, 3)
    pipeline, error = device.newComputePipelineStateWithFunction_error_(function, None)
    commands = device.newCommandQueue().commandBuffer()
    encoder = commands.computeCommandEncoder()
    encoder.setComputePipelineState_(pipeline)
    encoder.setBuffer_offset_atIndex_(table, 0, 0)
    for used in (below, given, found):
        encoder.useResource_usage_(used, 3)
    encoder.dispatchThreads_threadsPerThreadgroup_((4, 1, 1), (4, 1, 1))
    encoder.endEncoding()
    commands.commit()
    commands.waitUntilCompleted()
    assert commands.error() is None
    sums = np.frombuffer(found.contents().as_buffer(16), np.float32)
    np.testing.assert_array_equal(sums, (np.arange(4) + 2) * 10 + 301)


def test_types_by_their_numbers() -> None:
    half = Scalar(DType.FLOAT16)
    for type in (half, Vector(half, 3), Matrix(half, 2, 4), Matrix(Scalar(DType.FLOAT32), 4, 3)):
        assert type_of(data_type(type)) == type
    assert type_of(TEXTURE) is None
    assert constant_of(data_type(Vector(half, 3)), struct.pack("4e", 1, 2, 3, 9)) == (1, 2, 3)
    with pytest.raises(MetalloidError, match="of type float3 has 16 bytes; got 12"):
        constant_of(FLOAT3, bytes(12))
    with pytest.raises(MetalloidError, match="scalars and vectors are"):
        constant_of(data_type(Matrix(half, 2, 2)), bytes(64))
    assert declared_constants(SOURCE) == {"weight": (FLOAT3, 0)}


def test_vectors_as_constants_of_a_binary() -> None:
    assert "[4 x float]" in str(initial(VectorType(3, F32), (1.0, 2.0, 3.0)).type)
