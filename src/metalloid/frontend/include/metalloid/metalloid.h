// Everything a Metal kernel can see.
#pragma once

// Inlined header code takes the line of the user's call, and clang has less to describe.
#pragma clang attribute __inlined.push(__attribute__((always_inline)), apply_to = function)
#pragma clang attribute push(__attribute__((nodebug)), apply_to = hasType(functionType))
#include "types.h"
#include "entry.h"
#include "long_vec.h"
#include "volatile.h"
#include "library.h"
#include "sync.h"
#include "atomic.h"
#include "simd.h"
#include "simdgroup_matrix.h"
#include "tensor_ops.h"
#include "log.h"
#include "math.h"
#include "integer.h"
#include "relational.h"
#include "geometric.h"
#include "pack.h"
#include "internals.h"
#pragma clang attribute pop
#pragma clang attribute __inlined.pop
