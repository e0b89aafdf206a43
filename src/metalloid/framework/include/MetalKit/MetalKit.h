// MetalKit draws, which this framework does not; programs that only name it find Metal here.
#include <Metal/Metal.h>
