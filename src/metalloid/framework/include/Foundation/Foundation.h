// Foundation, as far as hosts of Metal kernels use it.
#ifndef METALLOID_FOUNDATION_H
#define METALLOID_FOUNDATION_H

#include <Block.h>
#include <Foundation/NSObjCRuntime.h>
#include <dispatch/dispatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>
#ifdef __OBJC__
#include <Foundation/NSCollections.h>
#include <Foundation/NSObject.h>
#include <Foundation/NSString.h>
#include <Foundation/NSSystem.h>
#include <Foundation/NSValues.h>
#endif

#endif
