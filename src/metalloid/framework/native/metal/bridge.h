// The way to Python: a table of functions that metalloid.framework.bridge fills in, and the interpreter's lock.
#pragma once
#include <stddef.h>
#include <stdint.h>

enum { BRIDGE_VERSION = 5, ERROR_ROOM = 1 << 16 };

// What Python says of a kernel. The same fields are in bridge.py.
struct mt_description {
    uint64_t max_threads, width, static_memory, buffers, buffer_mask;
};

struct mt_constant {
    const char *name;  // NULL: by index
    uint64_t index, type;
    uint8_t value[32];  // long4 is the longest
};

// A launch that is ready but for its memory: C runs it without asking Python again. See backend.NativeLaunch.
struct mt_ready {
    uint64_t plan;  // a handle; 0: there is none
    uint64_t record, size;  // to be copied; buffers come first in it
    uint64_t lengths, below, logs;  // where in it
    uint64_t run, threads;  // int32_t run(record, threads, timeout, catch_interrupt)
    uint64_t parameters;  // buffers whose contents the code was made for, as bits
};

// Handles are numbers above 0; 0 is a failure, and `error` has its words.
struct mt_bridge {
    int64_t version;
    int64_t (*library)(const char *text, size_t size, const char *options, char *error);
    int64_t (*binary)(const void *data, size_t size, const char *name, char *error);
    int64_t (*names)(int64_t library, char *names, size_t room);  // lines; bytes that are needed
    int64_t (*kernel)(int64_t library, const char *name, const struct mt_constant *constants, size_t count, char *error);
    int64_t (*describe)(int64_t kernel, struct mt_description *description, char *bindings, size_t room, char *error);
    void (*constants)(int64_t kernel, char *lines, size_t room);  // that it needs and has no value for
    int64_t (*arguments)(int64_t kernel, int64_t index, char *lines, size_t room, char *error);  // members of an argument buffer
    int64_t (*described)(const char *members, char *lines, size_t room, char *error);  // of one that a list describes
    // 0, or a kind of error; seconds that were spent on compiling
    int64_t (*run)(const uint64_t *const *dispatches, size_t count, struct mt_ready *ready, double *compiled, char *error);
    int64_t (*finish)(int64_t plan, void *record, const uint64_t *dispatch, int64_t status, char *error);
    void (*release)(int64_t handle);
    void (*tell)(const char *kind, const char *subject, const char *detail, const char *outcome);  // a step, for traces
    char name[64], architecture[64];  // of the device
    uint64_t registry, working_set, longest_buffer, most_threads, most_local;
    uint64_t tracing;  // whether steps are told
    char families[256];  // as Metal numbers them, with spaces between
};

extern struct mt_bridge mt_bridge;

// Python expects that a broken pipe is an error, not the end of the process; the program may expect the end. So the
// signal is held back while a thread is in Python, and forgotten before it leaves.
int mt_python_enters(void);
void mt_python_leaves(int was_blocked);

const char *mt_python_ready(void);  // NULL, or why kernels cannot be compiled here
void mt_python_thread_begins(void);  // so that its calls need not make an interpreter's thread each time
void mt_python_thread_ends(void);
