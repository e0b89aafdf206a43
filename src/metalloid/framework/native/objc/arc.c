// What code compiled with automatic reference counting calls, and the helpers of properties and @synchronized.
#include "runtime.h"
#include <Block.h>
#include <objc/message.h>
#include <objc/runtime.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT id objc_retainAutorelease(id object) { return objc_autorelease(objc_retain(object)); }
EXPORT id objc_autoreleaseReturnValue(id object) { return objc_autorelease(object); }
EXPORT id objc_retainAutoreleaseReturnValue(id object) { return objc_autorelease(objc_retain(object)); }
EXPORT id objc_retainAutoreleasedReturnValue(id object) { return objc_retain(object); }
EXPORT id objc_unsafeClaimAutoreleasedReturnValue(id object) { return object; }
EXPORT id objc_claimAutoreleasedReturnValue(id object) { return objc_retain(object); }
EXPORT id objc_retainBlock(id block) { return (id)_Block_copy(block); }

EXPORT id objc_alloc(Class cls) { return objc_msgSend((id)cls, sel_registerName("alloc")); }
EXPORT id objc_allocWithZone(Class cls) { return objc_alloc(cls); }
EXPORT id objc_alloc_init(Class cls) { return objc_msgSend(objc_alloc(cls), sel_registerName("init")); }
EXPORT id objc_opt_new(Class cls) { return objc_alloc_init(cls); }
EXPORT id objc_opt_self(id object) { return object; }
EXPORT Class objc_opt_class(id object) { return object ? (class_isMetaClass(object->isa) ? (Class)object : object->isa) : 0; }

EXPORT void objc_storeStrong(id *place, id value) {
    id had = *place;
    objc_retain(value);
    *place = value;
    objc_release(had);
}

// Properties: the place of the value is an offset into the object.
enum { LOCKS = 64 };
static pthread_mutex_t locks[LOCKS] = {[0 ... LOCKS - 1] = PTHREAD_MUTEX_INITIALIZER};
static pthread_mutex_t *lock_of(const void *place) { return &locks[((uintptr_t)place >> 4) % LOCKS]; }

EXPORT id objc_getProperty(id self, SEL selector, ptrdiff_t offset, BOOL atomic) {
    (void)selector;
    id *place = (id *)((char *)self + offset);
    if (!atomic)
        return *place;
    pthread_mutex_lock(lock_of(place));
    id value = objc_retain(*place);
    pthread_mutex_unlock(lock_of(place));
    return objc_autorelease(value);
}

EXPORT void objc_setProperty(id self, SEL selector, ptrdiff_t offset, id value, BOOL atomic, BOOL copy) {
    (void)selector;
    id *place = (id *)((char *)self + offset), had;
    value = copy && value ? objc_msgSend(value, sel_registerName("copy")) : objc_retain(value);
    if (atomic)
        pthread_mutex_lock(lock_of(place));
    had = *place;
    *place = value;
    if (atomic)
        pthread_mutex_unlock(lock_of(place));
    objc_release(had);
}

EXPORT void objc_setProperty_nonatomic(id s, SEL c, id v, ptrdiff_t o) { objc_setProperty(s, c, o, v, NO, NO); }
EXPORT void objc_setProperty_nonatomic_copy(id s, SEL c, id v, ptrdiff_t o) { objc_setProperty(s, c, o, v, NO, YES); }
EXPORT void objc_setProperty_atomic(id s, SEL c, id v, ptrdiff_t o) { objc_setProperty(s, c, o, v, YES, NO); }
EXPORT void objc_setProperty_atomic_copy(id s, SEL c, id v, ptrdiff_t o) { objc_setProperty(s, c, o, v, YES, YES); }

EXPORT void objc_copyStruct(void *to, const void *from, ptrdiff_t size, BOOL atomic, BOOL strong) {
    (void)strong;
    if (atomic)
        pthread_mutex_lock(lock_of(0));
    memmove(to, from, (size_t)size);
    if (atomic)
        pthread_mutex_unlock(lock_of(0));
}

EXPORT void objc_getPropertyStruct(void *to, const void *from, ptrdiff_t size, BOOL atomic, BOOL strong) {
    objc_copyStruct(to, from, size, atomic, strong);
}
EXPORT void objc_setPropertyStruct(void *to, const void *from, ptrdiff_t size, BOOL atomic, BOOL strong) {
    objc_copyStruct(to, from, size, atomic, strong);
}

static pthread_mutex_t held[LOCKS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_held(void) {
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_init(&held[i], &kind);
}

EXPORT int objc_sync_enter(id object) {
    pthread_once(&once, make_held);
    return object ? pthread_mutex_lock(&held[((uintptr_t)object >> 4) % LOCKS]) : 0;
}

EXPORT int objc_sync_exit(id object) {
    return object ? pthread_mutex_unlock(&held[((uintptr_t)object >> 4) % LOCKS]) : 0;
}

EXPORT void objc_enumerationMutation(id object) {
    mt_die("*** Terminating app due to uncaught exception 'NSGenericException', reason: '*** Collection <%s: %p> was"
           " mutated while being enumerated.'",
           object_getClassName(object), (void *)object);
}

// Exceptions end the process, with their words: nothing here unwinds to a @catch.
EXPORT void objc_exception_throw(id exception) {
    const char *(*text)(id, SEL) = (const char *(*)(id, SEL))objc_msgSend;
    id words = objc_msgSend(exception, sel_registerName("description"));
    mt_die("*** Terminating app due to uncaught exception '%s', reason: '%s'", object_getClassName(exception),
           text(words, sel_registerName("UTF8String")));
}

EXPORT void objc_exception_rethrow(id exception) { objc_exception_throw(exception); }
EXPORT id objc_begin_catch(void *exception) { return exception; }
EXPORT void objc_end_catch(void) {}
EXPORT int __gnu_objc_personality_v0(void) { return 8; }      // _URC_CONTINUE_UNWIND: C++ exceptions pass through
EXPORT int __gnustep_objc_personality_v0(void) { return 8; }
EXPORT int __gnustep_objcxx_personality_v0(void) { return 8; }
