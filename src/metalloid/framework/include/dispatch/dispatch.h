// Grand Central Dispatch: queues, groups, semaphores, data, once.
#ifndef METALLOID_DISPATCH_H
#define METALLOID_DISPATCH_H

#include <objc/objc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef __OBJC__
#include <Foundation/NSObject.h>
#define DISPATCH_DECL(name)                                                                                            \
    @protocol OS_##name <NSObject>                                                                                     \
    @end                                                                                                               \
    typedef NSObject<OS_##name> *name##_t
#define DISPATCH_QUEUE_DECL(name)                                                                                      \
    @protocol OS_##name <OS_dispatch_queue>                                                                            \
    @end                                                                                                               \
    typedef NSObject<OS_##name> *name##_t
#else
#define DISPATCH_DECL(name) typedef struct name##_s *name##_t
#define DISPATCH_QUEUE_DECL(name) typedef struct dispatch_queue_s *name##_t
#endif

#ifdef __OBJC__
#define DISPATCH_RETURNS_RETAINED __attribute__((ns_returns_retained))
#else
#define DISPATCH_RETURNS_RETAINED
#endif

DISPATCH_DECL(dispatch_queue);
DISPATCH_QUEUE_DECL(dispatch_queue_global);
DISPATCH_QUEUE_DECL(dispatch_queue_main);
DISPATCH_QUEUE_DECL(dispatch_queue_serial);
DISPATCH_QUEUE_DECL(dispatch_queue_concurrent);
DISPATCH_DECL(dispatch_queue_attr);
DISPATCH_DECL(dispatch_group);
DISPATCH_DECL(dispatch_semaphore);
DISPATCH_DECL(dispatch_data);

typedef uint64_t dispatch_time_t;
typedef long dispatch_once_t;
typedef void (*dispatch_function_t)(void *);
#ifdef __BLOCKS__
typedef void (^dispatch_block_t)(void);
#endif

#define DISPATCH_TIME_NOW (0ull)
#define DISPATCH_TIME_FOREVER (~0ull)
#define NSEC_PER_SEC 1000000000ull
#define NSEC_PER_MSEC 1000000ull
#define USEC_PER_SEC 1000000ull
#define NSEC_PER_USEC 1000ull
#define DISPATCH_QUEUE_SERIAL ((dispatch_queue_attr_t)0)
#define DISPATCH_QUEUE_PRIORITY_HIGH 2
#define DISPATCH_QUEUE_PRIORITY_DEFAULT 0
#define DISPATCH_QUEUE_PRIORITY_LOW (-2)
#define DISPATCH_QUEUE_PRIORITY_BACKGROUND INT16_MIN
#define DISPATCH_QUEUE_CONCURRENT _dispatch_queue_attr_concurrent
#define DISPATCH_TARGET_QUEUE_DEFAULT 0
#define DISPATCH_DATA_DESTRUCTOR_DEFAULT 0
#define DISPATCH_DATA_DESTRUCTOR_FREE _dispatch_data_destructor_free

typedef enum {
    QOS_CLASS_USER_INTERACTIVE = 0x21,
    QOS_CLASS_USER_INITIATED = 0x19,
    QOS_CLASS_DEFAULT = 0x15,
    QOS_CLASS_UTILITY = 0x11,
    QOS_CLASS_BACKGROUND = 0x09,
    QOS_CLASS_UNSPECIFIED = 0x00
} qos_class_t;
typedef qos_class_t dispatch_qos_class_t;

OBJC_EXPORT dispatch_queue_attr_t const _dispatch_queue_attr_concurrent;

OBJC_EXPORT dispatch_queue_t dispatch_queue_create(const char *label, dispatch_queue_attr_t attributes) DISPATCH_RETURNS_RETAINED;
OBJC_EXPORT dispatch_queue_t dispatch_queue_create_with_target(const char *label, dispatch_queue_attr_t attributes, dispatch_queue_t target) DISPATCH_RETURNS_RETAINED;
OBJC_EXPORT dispatch_queue_attr_t dispatch_queue_attr_make_with_qos_class(dispatch_queue_attr_t attributes, dispatch_qos_class_t qos, int priority);
OBJC_EXPORT dispatch_queue_global_t dispatch_get_global_queue(intptr_t identifier, uintptr_t flags);
OBJC_EXPORT dispatch_queue_main_t dispatch_get_main_queue(void);
OBJC_EXPORT const char *dispatch_queue_get_label(dispatch_queue_t queue);
OBJC_EXPORT void dispatch_main(void) __attribute__((noreturn));

OBJC_EXPORT void dispatch_async_f(dispatch_queue_t queue, void *context, dispatch_function_t work);
OBJC_EXPORT void dispatch_sync_f(dispatch_queue_t queue, void *context, dispatch_function_t work);
OBJC_EXPORT void dispatch_apply_f(size_t count, dispatch_queue_t queue, void *context, void (*work)(void *, size_t));
OBJC_EXPORT void dispatch_group_async_f(dispatch_group_t group, dispatch_queue_t queue, void *context, dispatch_function_t work);
OBJC_EXPORT void dispatch_once_f(dispatch_once_t *once, void *context, dispatch_function_t work);

OBJC_EXPORT dispatch_group_t dispatch_group_create(void) DISPATCH_RETURNS_RETAINED;
OBJC_EXPORT void dispatch_group_enter(dispatch_group_t group);
OBJC_EXPORT void dispatch_group_leave(dispatch_group_t group);
OBJC_EXPORT intptr_t dispatch_group_wait(dispatch_group_t group, dispatch_time_t timeout);

OBJC_EXPORT dispatch_semaphore_t dispatch_semaphore_create(intptr_t value) DISPATCH_RETURNS_RETAINED;
OBJC_EXPORT intptr_t dispatch_semaphore_wait(dispatch_semaphore_t semaphore, dispatch_time_t timeout);
OBJC_EXPORT intptr_t dispatch_semaphore_signal(dispatch_semaphore_t semaphore);

OBJC_EXPORT dispatch_time_t dispatch_time(dispatch_time_t when, int64_t delta);
OBJC_EXPORT dispatch_time_t dispatch_walltime(const void *when, int64_t delta);

OBJC_EXPORT size_t dispatch_data_get_size(dispatch_data_t data);

#ifdef __OBJC__
OBJC_EXPORT void dispatch_retain(id object);
OBJC_EXPORT void dispatch_release(id object);
#elif defined(__cplusplus)
extern "C" {
__attribute__((visibility("default"))) void dispatch_retain(void *object);
__attribute__((visibility("default"))) void dispatch_release(void *object);
}
#else
OBJC_EXPORT void dispatch_retain(void *object);
OBJC_EXPORT void dispatch_release(void *object);
#endif

#ifdef __BLOCKS__
typedef bool (^dispatch_data_applier_t)(dispatch_data_t region, size_t offset, const void *bytes, size_t size);
OBJC_EXPORT const dispatch_block_t _dispatch_data_destructor_free;
OBJC_EXPORT void dispatch_async(dispatch_queue_t queue, dispatch_block_t block);
OBJC_EXPORT void dispatch_sync(dispatch_queue_t queue, dispatch_block_t block);
OBJC_EXPORT void dispatch_barrier_async(dispatch_queue_t queue, dispatch_block_t block);
OBJC_EXPORT void dispatch_barrier_sync(dispatch_queue_t queue, dispatch_block_t block);
OBJC_EXPORT void dispatch_after(dispatch_time_t when, dispatch_queue_t queue, dispatch_block_t block);
OBJC_EXPORT void dispatch_apply(size_t count, dispatch_queue_t queue, void (^block)(size_t));
OBJC_EXPORT void dispatch_once(dispatch_once_t *once, dispatch_block_t block);
OBJC_EXPORT void dispatch_group_async(dispatch_group_t group, dispatch_queue_t queue, dispatch_block_t block);
OBJC_EXPORT void dispatch_group_notify(dispatch_group_t group, dispatch_queue_t queue, dispatch_block_t block);
OBJC_EXPORT dispatch_data_t dispatch_data_create(const void *bytes, size_t size, dispatch_queue_t queue, dispatch_block_t destructor) DISPATCH_RETURNS_RETAINED;
OBJC_EXPORT bool dispatch_data_apply(dispatch_data_t data, dispatch_data_applier_t applier);
OBJC_EXPORT dispatch_data_t dispatch_data_create_map(dispatch_data_t data, const void **bytes, size_t *size) DISPATCH_RETURNS_RETAINED;
#endif

#endif
