// The life of objects: made, counted, and kept for a while after their end, so that who uses them then is told.
#include "runtime.h"
#include <objc/message.h>
#include <objc/runtime.h>
#include <stdlib.h>

enum { KEPT = 4096 };  // released objects
static struct header *kept[KEPT];
static size_t next_kept;
extern struct objc_class _OBJC_CLASS_NSZombie;

static struct header *header_of(id object) { return (struct header *)object - 1; }

id class_createInstance(Class cls, size_t extra) {
    if (!cls)
        return 0;
    struct header *made = calloc(1, sizeof *made + (size_t)cls->instance_size + extra);
    if (!made)
        mt_die("objc: no memory for an object of class %s", cls->name);
    id object = (id)(made + 1);
    object->isa = cls;
    return object;
}

static void destroy_members(id object, Class cls) {
    const char *name = mt_unique(".cxx_destruct");
    for (; cls; cls = cls->super_class) {
        struct method *own = mt_own_method(cls, name);
        if (own)
            ((void (*)(id, SEL))own->imp)(object, sel_registerName(name));
    }
}

id object_dispose(id object) {
    if (!object)
        return 0;
    Class cls = object->isa;
    destroy_members(object, cls);
    mt_weak_gone(object);
    mt_associations_gone(object);
    struct header *header = header_of(object);
    header->was = cls;
    object->isa = &_OBJC_CLASS_NSZombie;
    size_t at = __atomic_fetch_add(&next_kept, 1, __ATOMIC_RELAXED) % KEPT;
    free(__atomic_exchange_n(&kept[at], header, __ATOMIC_ACQ_REL));
    return 0;
}

// What NSObject's retain and release are.
HIDDEN void mt_retain(id object) { __atomic_fetch_add(&header_of(object)->references, 1, __ATOMIC_RELAXED); }

HIDDEN int mt_release(id object) {
    long had = __atomic_fetch_sub(&header_of(object)->references, 1, __ATOMIC_ACQ_REL);
    if (had < 0)
        mt_die("*** -[%s release]: released more often than retained, %p", object->isa->name, (void *)object);
    return had == 0;
}

HIDDEN long mt_references(id object) { return __atomic_load_n(&header_of(object)->references, __ATOMIC_RELAXED) + 1; }

// For weak references: an object whose last reference is gone is not brought back.
HIDDEN int mt_try_retain(id object) {
    long *count = &header_of(object)->references, had = __atomic_load_n(count, __ATOMIC_RELAXED);
    while (had >= 0)
        if (__atomic_compare_exchange_n(count, &had, had + 1, 1, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            return 1;
    return 0;
}

#define SEND(name, result)                                                                                             \
    static struct objc_selector *selector;                                                                             \
    if (!selector)                                                                                                     \
        selector = sel_registerName(#name);                                                                            \
    return ((result(*)(id, SEL))mt_lookup(object, selector))(object, selector)

id objc_retain(id object) {
    if (!object)
        return 0;
    SEND(retain, id);
}

void objc_release(id object) {
    if (!object)
        return;
    SEND(release, void);
}

id objc_autorelease(id object) {
    if (!object)
        return 0;
    SEND(autorelease, id);
}
