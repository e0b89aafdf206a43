// Surfaces belong to textures, which this framework does not have; their name is needed by headers.
#ifndef METALLOID_IOSURFACE_H
#define METALLOID_IOSURFACE_H
typedef struct __IOSurface *IOSurfaceRef;
#endif
