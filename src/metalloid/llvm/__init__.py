"""LLVM: the library that llvmlite brings, and of it what a kernel needs.

llvmlite's own Python knows all of LLVM: importing it took a sixth of the processor time of a start that finds its code
on disk. Here its library is loaded, and a function of it is declared when it is first called. What is rarely wanted
(other devices, tests) is still asked of llvmlite itself; both may be used side by side.
"""

from metalloid.llvm.engine import Engine, add_symbol
from metalloid.llvm.host import default_triple, features, processor, triple, version
from metalloid.llvm.machine import Machine, set_option, start, start_all
from metalloid.llvm.module import Module, parse
from metalloid.llvm.passes import Builder, Passes

__all__ = [
    "Builder",
    "Engine",
    "Machine",
    "Module",
    "Passes",
    "add_symbol",
    "default_triple",
    "features",
    "parse",
    "processor",
    "set_option",
    "start",
    "start_all",
    "triple",
    "version",
]
