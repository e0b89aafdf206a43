// Blocks from C.
#ifndef METALLOID_BLOCK_H
#define METALLOID_BLOCK_H

#include <objc/objc.h>

OBJC_EXPORT void *_Block_copy(const void *block);
OBJC_EXPORT void _Block_release(const void *block);
#define Block_copy(...) ((__typeof(__VA_ARGS__))_Block_copy((const void *)(__VA_ARGS__)))
#define Block_release(...) _Block_release((const void *)(__VA_ARGS__))

#endif
