// Names of Mach types that headers use.
#ifndef METALLOID_MACH_H
#define METALLOID_MACH_H

#include <stdint.h>

typedef int kern_return_t;
typedef uint32_t mach_port_t;
typedef mach_port_t task_id_token_t;
#define KERN_SUCCESS 0
#define KERN_FAILURE 5

#endif
