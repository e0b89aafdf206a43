"""Random straight-line programs give the same results on the oracle and as LLVM's machine code."""

import ctypes
import random

import llvmlite.binding as llvm
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from metalloid import ir
from metalloid.backends import interpret
from metalloid.backends.base import Launch
from metalloid.ir.build import BlockBuilder, FunctionBuilder
from metalloid.ir.module import Module
from metalloid.ir.types import DEVICE_PTR, FLOAT, HALF, I1, I8, I16, I32, I64, IntType, StructType, Type
from metalloid.ir.values import Local, Value, const

LAYOUT = "e-m:e-p:64:64-p1:64:64-p3:32:32-p5:32:32-i64:64"
TYPES: tuple[Type, ...] = (I1, I8, I16, I32, I64, FLOAT, HALF)
INTEGERS = (I8, I16, I32, I64)
FLOATS = (FLOAT, HALF)
WORDS = 64  # of 8 bytes, of input and of output
ICMP = ("eq", "ne", "ult", "ule", "ugt", "uge", "slt", "sle", "sgt", "sge")
FCMP = ("oeq", "une", "olt", "ule", "ogt", "uge", "ord", "uno", "one", "ueq")


class Program:
    """A program of random instructions: every result joins the values that later ones draw from."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.code = FunctionBuilder("__mt_entry")
        self.b: BlockBuilder = self.code.block("entry")
        self.module = Module(datalayout=LAYOUT)
        self.values: dict[Type, list[Value]] = {type: [] for type in TYPES}
        self.base = self.call(DEVICE_PTR, "__mt_buffer", const(I32, 0))
        for number, type in enumerate(TYPES * 3):
            self.keep(self.b.load(type if type != I1 else I8, self.at(number), align=1))
        for type in INTEGERS:
            self.keep(
                const(type, self.random.choice([0, 1, -1, 1 << type.bits - 1, (1 << type.bits - 1) - 1]))
            )
        self.keep(self.b.compare("ult", self.pick(I8), self.pick(I8)))

    def call(self, result: Type, name: str, *arguments: Value) -> Local:
        self.module = self.module.declare(name, result, tuple(a.type for a in arguments))
        return self.b.call(result, name, *arguments)

    def at(self, word: int) -> Local:
        return self.b.gep(I64, self.base, const(I64, word), flags=["inbounds"])

    def keep(self, value: Value) -> None:
        self.values[value.type].append(value)

    def pick(self, type: Type) -> Value:
        return self.random.choice(self.values[type])

    def step(self) -> None:
        choice = self.random.choice
        self.keep(choice(STEPS)(self, choice(INTEGERS), choice(FLOATS)))

    def text(self) -> str:
        for number, values in enumerate(v[-6:] for v in self.values.values()):
            for place, value in enumerate(values):
                wide = self.b.cast("zext", value, I8) if value.type == I1 else value
                self.b.store(wide, self.at(WORDS + 8 * number + place), align=1)
        self.b.ret()
        return ir.write(self.module.with_function(self.code.function()))


def binary(p: Program, i: IntType, f: Type) -> Value:
    return p.b.binary(p.random.choice(["add", "sub", "mul", "and", "or", "xor"]), p.pick(i), p.pick(i))


def shift(p: Program, i: IntType, f: Type) -> Value:
    amount = p.b.binary("and", p.pick(i), const(i, i.bits - 1))
    return p.b.binary(p.random.choice(["shl", "lshr", "ashr"]), p.pick(i), amount)


def divide(p: Program, i: IntType, f: Type) -> Value:
    divisor = p.b.binary("or", p.b.binary("lshr", p.pick(i), const(i, 2)), const(i, 1))
    return p.b.binary(p.random.choice(["udiv", "urem", "sdiv", "srem"]), p.pick(i), divisor)


def floating(p: Program, i: IntType, f: Type) -> Value:
    return p.b.binary(p.random.choice(["fadd", "fsub", "fmul", "fdiv"]), p.pick(f), p.pick(f))


def resize(p: Program, i: IntType, f: Type) -> Value:
    other = p.random.choice([t for t in INTEGERS if t != i])
    opcode = "trunc" if other.bits < i.bits else p.random.choice(["zext", "sext"])
    return p.b.cast(opcode, p.pick(i), other)


def convert(p: Program, i: IntType, f: Type) -> Value:
    kind = p.random.choice(["int", "float", "other", "neg", "bits"])
    if kind == "int":
        name = p.random.choice(["fptosi", "fptoui"])
        # From float only: LLVM 22 with AVX512-FP16 turns a half NaN into -32768 in fptosi.sat.i16.f16.
        return p.call(i, f"llvm.{name}.sat.{i}.f32", p.pick(FLOAT))
    if kind == "float":
        return p.b.cast(p.random.choice(["sitofp", "uitofp"]), p.pick(i), f)
    if kind == "bits":
        return p.b.cast("bitcast", p.pick(I32), FLOAT)
    if kind == "neg":
        return p.b.unary("fneg", p.pick(f))
    return p.b.cast("fpext", p.pick(HALF), FLOAT) if f == FLOAT else p.b.cast("fptrunc", p.pick(FLOAT), HALF)


def compare(p: Program, i: IntType, f: Type) -> Value:
    if p.random.random() < 0.5:
        return p.b.compare(p.random.choice(ICMP), p.pick(i), p.pick(i))
    return p.b.compare(p.random.choice(FCMP), p.pick(f), p.pick(f))


def select(p: Program, i: IntType, f: Type) -> Value:
    type = p.random.choice([i, f])
    return p.b.select(p.pick(I1), p.pick(type), p.pick(type))


def integer_intrinsic(p: Program, i: IntType, f: Type) -> Value:
    two = ["smin", "smax", "umin", "umax", "uadd.sat", "usub.sat", "sadd.sat", "ssub.sat"]
    name = p.random.choice([*two, "ctpop", "bitreverse", "ctlz", "cttz", "abs", "fshl", "fshr", "bswap"])
    flag = const(I1, 0)
    arguments: tuple[Value, ...] = (p.pick(i),)
    if name in two:
        arguments += (p.pick(i),)
    elif name in ("ctlz", "cttz", "abs"):
        arguments += (flag,)
    elif name in ("fshl", "fshr"):
        arguments += (p.pick(i), p.pick(i))
    elif name == "bswap" and i == I8:
        name = "ctpop"
    return p.call(i, f"llvm.{name}.{i}", *arguments)


def overflow(p: Program, i: IntType, f: Type) -> Value:
    name = p.random.choice(["uadd", "usub", "umul", "sadd", "ssub", "smul"])
    both = p.call(StructType((i, I1)), f"llvm.{name}.with.overflow.{i}", p.pick(i), p.pick(i))
    return p.b.extract_value(both, p.random.choice([0, 1]))


def float_intrinsic(p: Program, i: IntType, f: Type) -> Value:
    one = ["sqrt", "floor", "ceil", "trunc", "rint", "fabs", "round", "roundeven"]
    name = p.random.choice([*one, "copysign", "fma", "is.fpclass"])
    if name == "is.fpclass":
        return p.call(I1, "llvm.is.fpclass.f32", p.pick(FLOAT), const(I32, p.random.randrange(1024) & ~3))
    count = 1 if name in one else {"copysign": 2, "fma": 3}[name]
    return p.call(FLOAT, f"llvm.{name}.f32", *(p.pick(FLOAT) for _ in range(count)))


STEPS = (
    binary,
    shift,
    divide,
    floating,
    resize,
    convert,
    compare,
    select,
    integer_intrinsic,
    overflow,
    float_intrinsic,
)


def run_compiled(text: str, memory: np.ndarray) -> None:
    """Run the program as machine code of this computer, over this memory."""
    address = memory.ctypes.data
    body = f"{{\n  ret ptr addrspace(1) inttoptr (i64 {address} to ptr addrspace(1))\n}}"
    text = text.replace(
        "declare ptr addrspace(1) @__mt_buffer(i32)", f"define ptr addrspace(1) @__mt_buffer(i32 %i) {body}"
    )
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten()
    )
    module = llvm.parse_assembly(text.replace(f'target datalayout = "{LAYOUT}"\n', ""))
    module.verify()
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    ctypes.CFUNCTYPE(None)(engine.get_function_address("__mt_entry"))()


def alike(words: np.ndarray) -> list[object]:
    """The output words, with all NaNs of a type the same: LLVM promises nothing about their bits."""
    found: list[object] = words.tolist()
    for number, type in enumerate(TYPES):
        numpy = {FLOAT: np.float32, HALF: np.float16}.get(type)  # type: ignore[call-overload]
        if numpy:
            for place in range(8 * number, 8 * number + 8):
                value = words[place : place + 1].view(numpy)[0]
                found[place] = "NaN" if np.isnan(value) else found[place]
    return found


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_random_programs(seed: int) -> None:
    program = Program(seed)
    for _ in range(60):
        program.step()
    text = program.text()
    ir.verify(text)
    memory = np.frombuffer(random.Random(seed).randbytes(8 * 2 * WORDS), np.uint64).copy()
    memory[WORDS:] = 0
    expected = memory.copy()
    run_compiled(text, expected)
    interpret.run(text, Launch((1, 1, 1), (1, 1, 1), {0: memory}))
    assert alike(memory[WORDS:]) == alike(expected[WORDS:])
