// From a receiver and a selector to the function: a table per class, read without a lock.
#include "runtime.h"
#include <objc/message.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct slot {
    const char *name;
    void *imp;
};

// Never changed once it can be seen: a table that has grown takes its place. The old ones stay, since somebody may
// be reading them; all of a class's tables together are twice the size of its last.
struct cache {
    size_t mask, used;
    struct slot slots[];
};

static struct objc_class *cached;  // those with a table, linked by `sibling`
extern struct objc_class _OBJC_CLASS_NSZombie;

static size_t place(const struct cache *cache, const char *name) {
    size_t at = ((uintptr_t)name >> 4) * 0x9E3779B97F4A7C15ull >> 40;
    for (;; at++) {
        const struct slot *slot = &cache->slots[at & cache->mask];
        const char *there = __atomic_load_n(&slot->name, __ATOMIC_ACQUIRE);
        if (there == name || !there)
            return at & cache->mask;
    }
}

static void remember(struct objc_class *cls, const char *name, void *imp) {
    struct cache *had = cls->cache;
    if (!had || (had->used + 1) * 2 > had->mask + 1) {
        size_t size = had ? 2 * (had->mask + 1) : 16;
        struct cache *made = calloc(1, sizeof *made + size * sizeof(struct slot));
        made->mask = size - 1;
        for (size_t i = 0; had && i <= had->mask; i++)
            if (had->slots[i].name) {
                made->slots[place(made, had->slots[i].name)] = had->slots[i];
                made->used++;
            }
        if (!had) {
            cls->sibling = cached;
            cached = cls;
        }
        __atomic_store_n(&cls->cache, made, __ATOMIC_RELEASE);
        had = made;
    }
    struct slot *slot = &had->slots[place(had, name)];
    if (!slot->name) {
        slot->imp = imp;
        __atomic_store_n(&slot->name, name, __ATOMIC_RELEASE);
        had->used++;
    }
}

// A category came: what was found before may be another method now.
void mt_forget_caches(void) {
    for (; cached; cached = cached->sibling)
        __atomic_store_n(&cached->cache, 0, __ATOMIC_RELEASE);
}

void *mt_find(struct objc_class *cls, const char *name) {
    struct cache *cache = __atomic_load_n(&cls->cache, __ATOMIC_ACQUIRE);
    if (cache) {
        struct slot *slot = &cache->slots[place(cache, name)];
        if (__atomic_load_n(&slot->name, __ATOMIC_ACQUIRE) == name)
            return slot->imp;
    }
    struct method *found = 0;
    mt_lock();
    for (struct objc_class *c = cls; c && !found; c = c->super_class)
        found = mt_own_method(c, name);
    void *imp = found ? found->imp : 0;
    if (imp)
        remember(cls, name, imp);
    mt_unlock();
    return imp;
}

static void initialize(struct objc_class *cls) {
    if (cls->info & METACLASS || __atomic_load_n(&cls->info, __ATOMIC_ACQUIRE) & INITIALIZED)
        return;
    if (cls->super_class)
        initialize(cls->super_class);
    mt_lock();
    if (!(cls->info & (INITIALIZED | INITIALIZING))) {
        cls->info |= INITIALIZING;
        struct method *own = mt_own_method(cls->isa, mt_unique("initialize"));
        if (own)
            ((void (*)(id, SEL))own->imp)((id)cls, sel_registerName("initialize"));
        __atomic_or_fetch(&cls->info, INITIALIZED, __ATOMIC_RELEASE);
    }
    mt_unlock();
}

static void *nothing(void) { return 0; }

static _Noreturn void unknown(struct objc_object *self, SEL selector) {
    struct objc_class *cls = self->isa;
    int meta = cls->info & METACLASS;
    const char *name = selector->name;
    if (cls == &_OBJC_CLASS_NSZombie) {
        struct header *header = (struct header *)self - 1;
        mt_die("*** -[%s %s]: message sent to deallocated instance %p", header->was->name, name, (void *)self);
    }
    char to[64] = "class";
    mt_die("*** Terminating app due to uncaught exception 'NSInvalidArgumentException', reason: '%c[%s %s]: unrecognized"
           " selector sent to %s %p'",
           meta ? '+' : '-', cls->name, name, meta ? to : "instance", (void *)self);
}

// Called by objc_msgSend with all argument registers saved.
void *mt_lookup(struct objc_object *self, SEL selector) {
    if (!self)
        return (void *)nothing;
    struct objc_class *cls = self->isa;
    struct cache *cache = __atomic_load_n(&cls->cache, __ATOMIC_ACQUIRE);
    if (__builtin_expect(cache != 0, 1)) {
        struct slot *slot = &cache->slots[place(cache, selector->name)];
        if (__builtin_expect(__atomic_load_n(&slot->name, __ATOMIC_ACQUIRE) == selector->name, 1))
            return slot->imp;
    }
    initialize(cls->info & METACLASS ? (struct objc_class *)self : cls);
    void *imp = mt_find(cls, selector->name);
    if (!imp)
        unknown(self, selector);
    return imp;
}

__attribute__((visibility("hidden"))) void *mt_lookup_super(struct objc_super *super, SEL selector) {
    if (!super->receiver)
        return (void *)nothing;
    void *imp = mt_find(super->super_class, selector->name);
    if (!imp)
        unknown((struct objc_object *)super->receiver, selector);
    return imp;
}

// What code compiled with a slower way of sending calls.
__attribute__((visibility("default"))) void *objc_msg_lookup(struct objc_object *self, SEL selector) {
    return mt_lookup(self, selector);
}

__attribute__((visibility("default"))) void *objc_msg_lookup_super(struct objc_super *super, SEL selector) {
    return mt_lookup_super(super, selector);
}

struct lookup_slot {
    struct objc_class *owner, *cached_for;
    const char *types;
    int version;
    void *method;
};

__attribute__((visibility("default"))) struct lookup_slot *objc_msg_lookup_sender(struct objc_object **self, SEL selector, id sender) {
    (void)sender;
    static _Thread_local struct lookup_slot slot;
    slot.method = mt_lookup(*self, selector);
    return &slot;
}

__attribute__((visibility("default"))) struct lookup_slot *objc_slot_lookup_super(struct objc_super *super, SEL selector) {
    static _Thread_local struct lookup_slot slot;
    slot.method = mt_lookup_super(super, selector);
    return &slot;
}
