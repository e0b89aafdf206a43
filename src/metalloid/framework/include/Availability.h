// Everything that is declared here is available.
#ifndef METALLOID_AVAILABILITY_H
#define METALLOID_AVAILABILITY_H

#define API_AVAILABLE(...)
#define API_UNAVAILABLE(...)
#define API_DEPRECATED(...)
#define API_DEPRECATED_WITH_REPLACEMENT(...)

#endif
