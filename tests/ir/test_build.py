"""The builder writes code that LLVM accepts, vectors included; layouts are LLVM's own."""

import llvmlite.binding as llvm
import pytest

from metalloid import ir
from metalloid.ir.build import FunctionBuilder
from metalloid.ir.layout import data_layout
from metalloid.ir.module import Instruction, Module, Parameter
from metalloid.ir.types import DEVICE_PTR, FLOAT, I1, I32, I64, VectorType
from metalloid.ir.values import Local, const, poison

V16 = VectorType(16, FLOAT)


def test_vector_code() -> None:
    pointer, count = Local("p", DEVICE_PTR), Local("n", I32)
    code = FunctionBuilder("f", parameters=[Parameter("p", DEVICE_PTR), Parameter("n", I32)])
    entry, loop, done = (code.block(name) for name in ("entry", "loop", "done"))
    entry.jump(loop.name)
    index = loop.phi(I32, [(const(I32, 0), "entry"), (Local("next", I32), "loop")], "index")
    wide = loop.cast("zext", index, I64, "wide")
    address = loop.gep(FLOAT, pointer, wide, name="address", flags=["inbounds"])
    value = loop.load(V16, address, align=4)
    turned = loop.shuffle(value, poison(V16), [*range(15, -1, -1)])
    positive = loop.compare("ogt", turned, const(V16, 0.0), "positive")
    chosen = loop.select(positive, turned, loop.splat(loop.extract_element(turned, 3), 16))
    loop.store(loop.binary("fmul", chosen, const(V16, 2.5), flags=["contract"]), address, align=4)
    following = loop.binary("add", index, const(I32, 16), "next")
    loop.branch(loop.compare("ult", following, count), "loop", "done")
    done.call(FLOAT, "llvm.vector.reduce.fadd.v16f32", const(FLOAT, 0), chosen, flags=["reassoc"])
    done.ret()
    module = Module((code.function(),)).declare("llvm.vector.reduce.fadd.v16f32", FLOAT, (FLOAT, V16))
    ir.verify(module)
    assert ir.read(ir.write(module)) == module


def test_names_are_made_unique() -> None:
    code = FunctionBuilder("f", taken=["x"])
    block = code.block("entry")
    names = [block.binary("add", const(I32, 1), const(I32, 2), "x").name for _ in range(3)]
    assert names == ["x.1", "x.2", "x.3"]


def test_substitution_and_labels() -> None:
    code = FunctionBuilder("f")
    block = code.block("entry")
    x = block.binary("add", const(I32, 1), const(I32, 2), "x")
    block.branch(block.compare("eq", x, x), "entry", "other")
    changed = [i.substitute({"x": const(I32, 9)}).relabel({"other": "there"}) for i in block.code]
    assert changed[1].operands == (const(I32, 9), const(I32, 9))
    assert changed[2].labels == ("entry", "there")
    assert changed[2].operands[0].type == I1


LAYOUTS = {
    "gpu": "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-i64:64-v16:16-v24:32-v32:32-v96:128",
    "x86": "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128",
}
TYPES = [
    "{ i8, i64, i16 }",
    "<{ i8, i64 }>",
    "[3 x { half, i1, ptr addrspace(3) }]",
    "{ i128, i24, bfloat }",
    "<3 x float>",
    "{ i8, <8 x i16> }",
]


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("type", TYPES)
def test_sizes_are_llvms(layout: str, type: str) -> None:
    text = f'target datalayout = "{layout}"\n@g = global {type} zeroinitializer\n'
    parsed = llvm.parse_assembly(text)
    theirs = llvm.create_target_data(layout)
    held = parsed.get_global_variable("g").global_value_type
    ours = data_layout(layout)
    variable = ir.read(text).globals[0].type
    assert ours.size(variable) == theirs.get_abi_size(held)
    assert ours.align(variable) == theirs.get_abi_alignment(held)


def test_an_instruction_whose_operands_stay_is_itself() -> None:
    x, y = Local("x", I32), Local("y", I32)
    add = Instruction("add", I32, (x, y), "sum")
    assert add.map_operands(lambda o: o) is add
    assert add.map_operands(lambda o: x).operands == (x, x)
