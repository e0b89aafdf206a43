"""Kernels that Apple's compiler has already compiled: `.metallib` in, scalar LLVM IR and a signature out.

A front end of its own beside the one for sources. `container` finds a kernel's bitcode, `build` makes of it what
`metalloid.frontend` makes of a text; everything after that is the same. docs/design/air.md tells the way.
"""
