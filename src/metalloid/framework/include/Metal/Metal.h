// Metal's compute half.
#ifndef METALLOID_METAL_H
#define METALLOID_METAL_H

#include <Metal/MTLTypes.h>
#ifdef __OBJC__
#include <Metal/MTLDevice.h>
#endif

#endif
