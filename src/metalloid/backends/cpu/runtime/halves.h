// Conversions of half that processors without instructions for it ask a compiler's own library for.
#pragma once
#include "launch.h"

using u16 = unsigned short;

namespace {

// To nearest, ties to even; what is dropped decides once, also where the result is subnormal.
u16 narrowed(double value) {
    u64 bits = __builtin_bit_cast(u64, value);
    u16 sign = u16(bits >> 48 & 0x8000);
    int exponent = int(bits >> 52 & 0x7ff);
    u64 mantissa = bits & 0xfffffffffffffull;
    if (exponent == 0x7ff) return u16(sign | 0x7c00 | (mantissa ? 0x200 | mantissa >> 42 : 0));
    int power = exponent - 1023;
    if (power > 15) return sign | 0x7c00;
    if (power < -25) return sign;
    u64 whole = mantissa | 1ull << 52;
    int drop = power >= -14 ? 42 : 42 + (-14 - power);
    u64 kept = whole >> drop, rest = whole & ((1ull << drop) - 1), half = 1ull << (drop - 1);
    kept += rest > half || (rest == half && (kept & 1));
    if (power >= -14) kept += u64(power + 14) << 10;  // a carry out of the mantissa goes up into the exponent
    return u16(sign | kept);
}

}  // namespace

extern "C" {

_Float16 __truncdfhf2(double value) { return __builtin_bit_cast(_Float16, narrowed(value)); }
_Float16 __truncsfhf2(float value) { return __builtin_bit_cast(_Float16, narrowed(double(value))); }

float __extendhfsf2(_Float16 value) {
    u32 bits = __builtin_bit_cast(u16, value);
    u32 sign = (bits & 0x8000) << 16, exponent = bits >> 10 & 31, mantissa = bits & 0x3ff;
    u32 made;
    if (exponent == 31) made = sign | 0x7f800000 | mantissa << 13;
    else if (exponent) made = sign | (exponent + 112) << 23 | mantissa << 13;
    else {
        float small = float(mantissa) * 0x1p-24f;  // exact
        made = sign | __builtin_bit_cast(u32, small);
    }
    return __builtin_bit_cast(float, made);
}
}
