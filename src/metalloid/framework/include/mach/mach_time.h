// The clock of a Mac, in nanoseconds here.
#ifndef METALLOID_MACH_TIME_H
#define METALLOID_MACH_TIME_H

#include <mach/mach.h>
#include <objc/objc.h>

typedef struct mach_timebase_info {
    uint32_t numer, denom;
} mach_timebase_info_data_t, *mach_timebase_info_t;

OBJC_EXPORT uint64_t mach_absolute_time(void);
OBJC_EXPORT kern_return_t mach_timebase_info(mach_timebase_info_t info);

#endif
