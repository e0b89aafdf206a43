"""The opcodes of LLVM IR by the shape of their text."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


BINARY = _words("add sub mul udiv sdiv urem srem shl lshr ashr and or xor fadd fsub fmul fdiv frem")
CASTS = _words(
    "trunc zext sext fptrunc fpext fptoui fptosi uitofp sitofp"
    " ptrtoint ptrtoaddr inttoptr bitcast addrspacecast"
)
UNARY = _words("fneg freeze")
COMPARES = _words("icmp fcmp")

FAST_MATH = _words("nnan ninf nsz arcp contract afn reassoc fast")
FLAGS = FAST_MATH | _words("nuw nsw exact disjoint nneg samesign inbounds nusw inrange")

ORDERINGS = _words("unordered monotonic acquire release acq_rel seq_cst")
