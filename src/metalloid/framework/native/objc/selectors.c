// Names of selectors, one copy of each: two selectors are the same when their names are at the same place.
#include "runtime.h"
#include <pthread.h>
#include <stdio.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    struct entry *next;
    struct objc_selector selector;
    char text[];
};

enum { BUCKETS = 4096 };
static struct entry *table[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t runtime_lock;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_lock(void) {
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&runtime_lock, &kind);
}

void mt_lock(void) {
    pthread_once(&once, make_lock);
    pthread_mutex_lock(&runtime_lock);
}

void mt_unlock(void) { pthread_mutex_unlock(&runtime_lock); }

static struct entry *entry_of(const char *name) {
    uint32_t hash = 2166136261u;
    for (const char *c = name; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    struct entry **bucket = &table[hash % BUCKETS];
    pthread_mutex_lock(&lock);
    struct entry *found = *bucket;
    while (found && strcmp(found->text, name))
        found = found->next;
    if (!found) {
        size_t length = strlen(name) + 1;
        found = malloc(sizeof *found + length);
        memcpy(found->text, name, length);
        found->selector = (struct objc_selector){found->text, 0};
        found->next = *bucket;
        *bucket = found;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

const char *mt_unique(const char *name) { return entry_of(name)->text; }

SEL sel_registerName(const char *name) { return name ? &entry_of(name)->selector : 0; }

SEL sel_getUid(const char *name) { return sel_registerName(name); }

__attribute__((visibility("default"))) SEL sel_registerTypedName_np(const char *name, const char *types) {
    (void)types;
    return sel_registerName(name);
}

const char *sel_getName(SEL selector) { return selector ? selector->name : "<null selector>"; }

BOOL sel_isEqual(SEL one, SEL other) {
    return one == other || (one && other && one->name == other->name);
}

void mt_die(const char *format, ...) {
    va_list rest;
    va_start(rest, format);
    fflush(stdout);
    vfprintf(stderr, format, rest);
    va_end(rest);
    fputc('\n', stderr);
    fflush(stderr);
    abort();
}
