"""`metalloid c++ ...`: compile and link a C++ or Objective-C++ program, metal-cpp from wherever the user has it."""

from __future__ import annotations

from metalloid.cli.cc import compile_command

command = compile_command("c++", "C++ or Objective-C++")
