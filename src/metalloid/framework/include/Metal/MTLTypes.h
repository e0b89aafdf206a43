// Numbers and small structures of Metal's compute half.
#ifndef METALLOID_MTLTYPES_H
#define METALLOID_MTLTYPES_H

#include <Metal/MTLEnumerations.h>

typedef struct {
    uint32_t location, length;
} MTLIndirectCommandBufferExecutionRange;

typedef struct {
    NSUInteger width, height, depth;
} MTLSize;

typedef struct {
    NSUInteger x, y, z;
} MTLOrigin;

typedef struct {
    MTLOrigin origin;
    MTLSize size;
} MTLRegion;

typedef struct {
    NSUInteger size, align;
} MTLSizeAndAlign;

typedef struct {
    uint64_t _impl;
} MTLResourceID;

typedef struct {
    uint32_t threadgroupsPerGrid[3];
} MTLDispatchThreadgroupsIndirectArguments;

typedef uint64_t MTLGPUAddress;
typedef uint64_t MTLTimestamp;

static inline MTLSize MTLSizeMake(NSUInteger width, NSUInteger height, NSUInteger depth) {
    MTLSize size = {width, height, depth};
    return size;
}

static inline MTLOrigin MTLOriginMake(NSUInteger x, NSUInteger y, NSUInteger z) {
    MTLOrigin origin = {x, y, z};
    return origin;
}

#endif
