"""Metal for programs in C, C++ and Objective-C: a shared library, its headers, and the commands that build with them.

`native/` is the library (an Objective-C runtime, the Foundation and GCD that hosts use, Metal's compute half),
`include/` its headers; `bridge.py` is what it calls in Python.
"""
