// Weak references and associated objects: tables beside the objects, under one lock.
#include "runtime.h"
#include <objc/message.h>
#include <objc/runtime.h>
#include <pthread.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

struct row {
    struct row *next;
    void *object;  // what the row belongs to
    void *key;  // where a weak reference lies, or the key of an association
    id value;  // associated; NULL for a weak reference
    int retained, weak;
};

enum { BUCKETS = 1024 };
static struct row *rows[BUCKETS];
static size_t count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
HIDDEN int mt_try_retain(id object);

static struct row **bucket(const void *object) { return &rows[((uintptr_t)object >> 4) % BUCKETS]; }

static struct row *take(void *object, const void *key, int weak) {
    for (struct row **at = bucket(object); *at; at = &(*at)->next)
        if ((*at)->object == object && (*at)->key == key && (*at)->weak == weak) {
            struct row *found = *at;
            *at = found->next;
            count--;
            return found;
        }
    return 0;
}

static void add(struct row row) {
    struct row *made = malloc(sizeof *made), **at = bucket(row.object);
    *made = row;
    made->next = *at;
    *at = made;
    count++;
}

EXPORT id objc_storeWeak(id *place, id value) {
    pthread_mutex_lock(&lock);
    if (*place)
        free(take(*place, place, 1));
    *place = value;
    if (value)
        add((struct row){.object = value, .key = place, .weak = 1});
    pthread_mutex_unlock(&lock);
    return value;
}

EXPORT id objc_initWeak(id *place, id value) {
    *place = 0;
    return objc_storeWeak(place, value);
}

EXPORT void objc_destroyWeak(id *place) { objc_storeWeak(place, 0); }

EXPORT id objc_loadWeakRetained(id *place) {
    pthread_mutex_lock(&lock);
    id value = *place && mt_try_retain(*place) ? *place : 0;
    pthread_mutex_unlock(&lock);
    return value;
}

EXPORT id objc_loadWeak(id *place) { return objc_autorelease(objc_loadWeakRetained(place)); }

EXPORT void objc_copyWeak(id *to, id *from) {
    id value = objc_loadWeakRetained(from);
    objc_initWeak(to, value);
    objc_release(value);
}

EXPORT void objc_moveWeak(id *to, id *from) {
    objc_copyWeak(to, from);
    objc_destroyWeak(from);
}

void mt_weak_gone(void *object) {
    if (!__atomic_load_n(&count, __ATOMIC_RELAXED))
        return;
    pthread_mutex_lock(&lock);
    for (struct row **at = bucket(object); *at;) {
        struct row *row = *at;
        if (row->object == object && row->weak) {
            *(id *)row->key = 0;
            *at = row->next;
            count--;
            free(row);
        } else
            at = &row->next;
    }
    pthread_mutex_unlock(&lock);
}

void objc_setAssociatedObject(id object, const void *key, id value, objc_AssociationPolicy policy) {
    int copies = (policy & 3) == 3, retained = policy != OBJC_ASSOCIATION_ASSIGN;
    if (value && copies)
        value = objc_msgSend(value, sel_registerName("copy"));
    else if (retained)
        objc_retain(value);
    pthread_mutex_lock(&lock);
    struct row *had = take(object, key, 0);
    if (value)
        add((struct row){.object = object, .key = (void *)key, .value = value, .retained = retained});
    pthread_mutex_unlock(&lock);
    if (had && had->retained)
        objc_release(had->value);
    free(had);
}

id objc_getAssociatedObject(id object, const void *key) {
    id found = 0;
    pthread_mutex_lock(&lock);
    for (struct row *row = *bucket(object); row && !found; row = row->next)
        if (row->object == object && row->key == key && !row->weak)
            found = row->value;
    pthread_mutex_unlock(&lock);
    return found;
}

void mt_associations_gone(void *object) {
    while (__atomic_load_n(&count, __ATOMIC_RELAXED)) {
        pthread_mutex_lock(&lock);
        struct row *found = *bucket(object);
        while (found && (found->object != object || found->weak))
            found = found->next;
        if (found)
            found = take(object, found->key, 0);
        pthread_mutex_unlock(&lock);
        if (!found)
            return;
        if (found->retained)
            objc_release(found->value);
        free(found);
    }
}

void objc_removeAssociatedObjects(id object) { mt_associations_gone(object); }
