"""The CPU: vector code made machine code by LLVM, threadgroups handed to a native pool of threads."""
