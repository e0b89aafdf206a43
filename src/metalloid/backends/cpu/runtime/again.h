// The same launch once more: whether Python's arguments still are what they were, in one call.
//
// In Python each array took a microsecond: the only way to its address goes through an object that exports it. Here its
// fields are read where they lie. They are those that every extension of numpy's has compiled in, and whoever fills
// `Python` has tried them on an array (cpu/repeats.py). The caller holds the interpreter's lock.
#pragma once
#include "launch.h"

// Where things lie in objects, and what Python gives to be called.
struct Python {
    u64 type, tuple_length, tuple_items;
    u64 data, axes, lengths, description, flags;  // of an array
    u64 flags_wanted;
    const void *array, *integer, *floating;  // types
    u64 scalar;  // where a number of numpy's has its bytes
    i64 (*to_integer)(const void *, i32 *overflow);
    double (*to_double)(const void *);
    void *(*unlock)();
    void (*lock)(void *);
    void (*hold)(const void *), (*drop)(const void *);
    const void *(*from_integer)(i64);
    void *(*new_tuple)(i64);
    const void *none;
    u64 main;  // the main thread
};

// SCALAR: a number of numpy's. SAME: an object that never changes, as a tuple of numbers. FROZEN: an array that nobody may write. SHARED: a buffer whose array is the caller's own.
enum Kind : u64 { INTEGER, FLOAT, SCALAR, SAME, ARRAY, FROZEN, BUFFER, SHARED };
constexpr u64 WRITEABLE = 0x400;  // numpy's flag

struct Argument {
    Kind kind;
    const void *object;  // a buffer, or one that never changes
    u64 place;           // of the array in it; of an array whose shape counts, one more than its axes
    const void *array;   // in it; of such an array, its lengths
    u64 value;           // of a number, its bits; of an array, where its elements lie
    const void *description;  // of an array, its dtype; of a number of numpy's, its type
    u64 count;           // of elements
    const void *copy;    // of a parameter, which the launch reads instead; null where it reads the array
    u64 bytes;           // of the copy, or of a number of numpy's
};

struct Again {
    Again *next;
    Launch *launch;
    u64 threads;
    u64 number;   // among those of its kind
    u64 stale;    // a buffer of its arguments is gone
    u64 at_once;  // not for those that run it later: an array that was converted may be another then
    u64 running;  // nobody else starts it meanwhile; still 1 after one that did not end well
    u64 runs;
    u64 count;
    Argument arguments[32];
};

namespace {

const Python *python;  // set before there is any launch to repeat

template <class T> inline T field(const void *object, u64 place) {
    return *reinterpret_cast<const T *>(static_cast<const char *>(object) + place);
}

inline bool same_array(const Python &p, const Argument &a, const void *given) {
    if (field<const void *>(given, p.type) != p.array || field<u64>(given, p.data) != a.value) return false;
    if (field<const void *>(given, p.description) != a.description) return false;
    u64 wanted = a.kind == FROZEN ? p.flags_wanted & ~WRITEABLE : p.flags_wanted;
    if ((u64(field<u32>(given, p.flags)) & wanted) != wanted) return false;
    const i64 *lengths = field<const i64 *>(given, p.lengths), *wanted_lengths = static_cast<const i64 *>(a.array);
    u64 count = 1;
    i32 axes = field<i32>(given, p.axes);
    bool shaped = a.kind < BUFFER && a.place;
    if (shaped && u64(axes) + 1 != a.place) return false;
    for (i32 n = 0; n < axes; n++) {
        if (shaped && lengths[n] != wanted_lengths[n]) return false;
        count *= u64(lengths[n]);
    }
    return count == a.count;
}

inline bool same_memory(const Python &p, const Argument &a, const void *given) {
    if (a.kind == ARRAY || a.kind == FROZEN) return same_array(p, a, given);
    if (given != a.object || field<const void *>(given, a.place) != a.array) return false;  // another, or released
    return a.kind == BUFFER || same_array(p, a, a.array);
}

inline bool same_bytes(const void *x, const void *y, u64 count) {
    const char *left = static_cast<const char *>(x), *right = static_cast<const char *>(y);
    for (u64 n = 0; n < count; n++)
        if (left[n] != right[n]) return false;
    return true;
}

inline bool same_argument(const Python &p, const Argument &a, const void *given) {
    i32 overflow = 0;
    double number;
    switch (a.kind) {
    case INTEGER:
        return field<const void *>(given, p.type) == p.integer && u64(p.to_integer(given, &overflow)) == a.value &&
               !overflow;
    case FLOAT:  // by its bits: 0.0 is not -0.0
        if (field<const void *>(given, p.type) != p.floating) return false;
        number = p.to_double(given);
        return field<u64>(&number, 0) == a.value;
    case SCALAR:
        return field<const void *>(given, p.type) == a.description &&
               same_bytes(static_cast<const char *>(given) + p.scalar, &a.value, a.bytes);
    case SAME:
        return given == a.object;
    default:
        return same_memory(p, a, given) &&
               (!a.copy || same_bytes(a.copy, reinterpret_cast<const void *>(a.value), a.bytes));
    }
}

inline const void **items(const void *tuple) {
    return reinterpret_cast<const void **>(reinterpret_cast<u64>(tuple) + python->tuple_items);
}

inline bool same(const Again &again, const void *tuple) {
    const Python &p = *python;
    if (again.stale || again.running || field<u64>(tuple, p.tuple_length) != again.count) return false;
    const void *const *given = items(tuple);
    for (u64 n = 0; n < again.count; n++)
        if (!same_argument(p, again.arguments[n], given[n])) return false;
    return true;
}

// The first of some launches whose arguments these still are; `number` is where the first lies, as an int of Python's.
inline Again *found(const void *number, const void *arguments) {
    i32 overflow = 0;
    Again *again = *reinterpret_cast<Again **>(python->to_integer(number, &overflow));
    while (again && !same(*again, arguments)) again = again->next;
    return again;
}

// While the interpreter's lock is away another thread may release a buffer: its array stays until the launch has ended.
inline void each_array(const Again &again, void (*act)(const void *)) {
    for (u64 n = 0; n < again.count; n++)
        if (again.arguments[n].kind >= BUFFER) act(again.arguments[n].array);
}

// What whoever runs a launch later has to keep: its arguments, and for buffers, which may be released, their arrays.
inline const void *kept(const Again &again, const void *arguments) {
    void *made = python->new_tuple(i64(again.count));
    for (u64 n = 0; made && n < again.count; n++) {
        const Argument &a = again.arguments[n];
        items(made)[n] = a.kind >= BUFFER ? a.array : items(arguments)[n];
        python->hold(items(made)[n]);
    }
    return made;
}

}  // namespace
