"""A small model of LLVM IR: read it, look at it, change it, write it.

module = read(text)
function = module.function["__mt_entry"]
text = write(module.with_function(some_pass(function)))
verify(text)
"""

from metalloid.ir.module import Block, CallStyle, Function, GlobalVariable, Instruction, Module, Parameter
from metalloid.ir.read import keep, read, read_once
from metalloid.ir.verify import verify
from metalloid.ir.write import write

__all__ = [
    "Block",
    "CallStyle",
    "Function",
    "GlobalVariable",
    "Instruction",
    "Module",
    "Parameter",
    "keep",
    "read",
    "read_once",
    "verify",
    "write",
]
