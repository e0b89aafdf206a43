// The tables that the compiler writes (gnustep-1.9) and what the runtime's files share.
#pragma once
#include <objc/objc.h>
#include <stdint.h>

#define HIDDEN __attribute__((visibility("hidden")))

struct objc_selector {
    const char *name;  // after registration: the one copy of this name in the process
    const char *types;
};

struct method {
    const char *name;  // the one copy, as in selectors
    const char *types;
    void *imp;
};

struct method_list {
    struct method_list *next;
    int count;
    struct method methods[];
};

struct ivar {
    const char *name;
    const char *types;
    int offset;
};

struct ivar_list {
    int count;
    struct ivar ivars[];
};

struct protocol {
    struct objc_class *isa;
    const char *name;
    struct protocol_list *protocols;
    void *rest[6];
};

struct protocol_list {
    struct protocol_list *next;
    size_t count;
    struct protocol *protocols[];
};

struct objc_class {
    struct objc_class *isa;
    struct objc_class *super_class;  // a name until the class is resolved
    const char *name;
    long version;
    unsigned long info;
    long instance_size;  // negative until resolved: bytes beyond the superclass
    struct ivar_list *ivars;
    struct method_list *methods;
    struct cache *cache;
    struct objc_class *subclasses;
    struct objc_class *sibling;
    struct protocol_list *protocols;
    void *extra;
    long abi_version;
    int **ivar_offsets;
    void *properties;
    long strong_pointers, weak_pointers;
};

enum { CLASS = 1, METACLASS = 2, INITIALIZED = 8, RESOLVED = 0x200, INITIALIZING = 0x400 };

// In front of every object that is allocated here.
struct header {
    long references;  // beyond the first
    struct objc_class *was;  // of which class a released object was
};

HIDDEN const char *mt_unique(const char *name);
HIDDEN void *mt_find(struct objc_class *cls, const char *name);
HIDDEN void *mt_lookup(struct objc_object *self, SEL selector);
HIDDEN struct method *mt_own_method(struct objc_class *cls, const char *name);
HIDDEN void mt_forget_caches(void);
HIDDEN void mt_lock(void);
HIDDEN void mt_unlock(void);
HIDDEN void mt_associations_gone(void *object);
HIDDEN void mt_weak_gone(void *object);
HIDDEN _Noreturn void mt_die(const char *format, ...) __attribute__((format(printf, 1, 2)));
