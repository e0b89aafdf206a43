// Everything that is declared here is available.
#ifndef METALLOID_AVAILABILITY_MACROS_H
#define METALLOID_AVAILABILITY_MACROS_H

#include <Availability.h>

#endif
