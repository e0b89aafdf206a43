// os_log as lines on the error stream.
#ifndef METALLOID_OS_LOG_H
#define METALLOID_OS_LOG_H
#include <stdio.h>
typedef void *os_log_t;
#define OS_LOG_DEFAULT ((os_log_t)0)
#define os_log(log, format, ...) fprintf(stderr, format "\n", ##__VA_ARGS__)
#define os_log_error os_log
#define os_log_info os_log
#endif
