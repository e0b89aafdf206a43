"""Reading and writing lose nothing that LLVM sees."""

import re
import time
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from metalloid import ir
from metalloid.errors import DeviceError

EVERY_FORM = (Path(__file__).parent / "every_form.ll").read_text()


def named(text: str) -> str:
    """What the reader does to numbered values, done to the text itself; debug records and hints left out."""
    text = re.sub(r"%(?=\d+\b)", "%_", text)
    text = re.sub(r"^(\d+):", r"_\1:", text, flags=re.MULTILINE)
    text = re.sub(r"^ +#dbg.*\n", "", text, flags=re.MULTILINE)
    text = text.replace("#0 {\n  %_3", "#0 {\n_2:\n  %_3")
    return re.sub(r' \[ "align".*\]', "", text)


def canonical(text: str) -> list[str]:
    """LLVM's own print of a text, by line, metadata numbers aside (LLVM renumbers)."""
    parsed = llvm.parse_assembly(text, context=llvm.create_context())
    return [re.sub(r"!\d+", "!", line) for line in str(parsed).splitlines()]


def test_llvm_sees_the_same_module_before_and_after() -> None:
    written = ir.write(ir.read(EVERY_FORM))
    ir.verify(written)
    assert canonical(written) == canonical(named(EVERY_FORM))


def test_reading_back_gives_an_equal_model() -> None:
    module = ir.read(EVERY_FORM)
    assert ir.read(ir.write(module)) == module


def test_instructions_keep_what_matters() -> None:
    function = ir.read(EVERY_FORM).function["__mt_entry"]
    at = function.definitions
    assert at["a"].ordering == "monotonic" and at["a"].scope == "agent-one-as" and at["a"].align == 4
    assert at["old"].predicate == "fadd"
    assert at["x"].flags == ("weak",)
    assert (at["x"].ordering, at["x"].failure_ordering) == ("acq_rel", "monotonic")
    assert at["q"].flags == ("inbounds", "nuw") and str(at["q"].element) == "%struct.P"
    assert at["m"].called == "__mt_matrix_load_b32_device"
    assert str(at["ptrs"].type) == "<4 x ptr addrspace(1)>"
    assert at["p"].debug == "!4"
    assert function.entry.successors == ("d", "odd label")
    assert [str(v.type) for v, _ in function.entry.terminator.cases] == ["i32", "i32"]


def test_numbered_values_avoid_names_already_there() -> None:
    module = ir.read(
        "define i32 @f(i32 %_0) {\n  %1 = add i32 %_0, 1\n  %2 = mul i32 %1, %_0\n  ret i32 %2\n}\n"
    )
    ir.verify(module)
    names = [i.name for i in module.functions[0].instructions()]
    assert len({*names, "_0"}) == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("define void @f() {\n  %x = add i32 1,\n  ret void\n}\n", "line 3, column 3"),
        (
            "define i32 @f() {\na:\n br label %c\nb:\n %x = add i32 1, 1\n br label %c\nc:\n ret i32 %x\n}\n",
            "dominate",
        ),
    ],
)
def test_verify_says_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(DeviceError, match=message):
        ir.verify(text)


@pytest.mark.parametrize("line", ["%x = frobnicate i32 1", "%x = add i32 1 2", "%x = load i32, foo %p"])
def test_what_cannot_be_read_is_refused_with_the_line(line: str) -> None:
    with pytest.raises(DeviceError, match=re.escape(line)):
        ir.read(f"define void @f() {{\n  {line}\n  ret void\n}}\n")


def test_reading_is_quick() -> None:
    body = "".join(
        f"  %p{n} = getelementptr inbounds float, ptr addrspace(1) %p, i64 {n}, !dbg !4\n"
        f"  %a{n} = load float, ptr addrspace(1) %p{n}, align 4, !dbg !4, !tbaa !8\n"
        f"  %m{n} = fmul contract float %a{n}, 2.500000e+00, !dbg !4\n"
        f"  store float %m{n}, ptr addrspace(1) %p{n}, align 4, !dbg !4\n"
        for n in range(1250)
    )
    text = f"define void @f(ptr addrspace(1) %p) {{\n{body}  ret void\n}}\n"
    start = time.process_time()  # of this process, whatever else the machine does
    assert len(list(ir.read(text).functions[0].instructions())) == 5001
    assert time.process_time() - start < 1.0
