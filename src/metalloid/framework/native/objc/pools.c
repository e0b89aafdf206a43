// Autorelease pools: one stack of objects for each thread; a pool is a height of it.
#include "runtime.h"
#include <objc/runtime.h>
#include <pthread.h>
#include <stdlib.h>

struct stack {
    id *objects;
    size_t count, room;
};

static _Thread_local struct stack *mine;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void pop_to(struct stack *stack, size_t height) {
    while (stack->count > height)
        objc_release(stack->objects[--stack->count]);  // which may add more
}

static void thread_ends(void *stack) {
    mine = stack;
    pop_to(stack, 0);
    mine = 0;
    free(((struct stack *)stack)->objects);
    free(stack);
}

static void make_key(void) { pthread_key_create(&key, thread_ends); }

static struct stack *stack(void) {
    if (!mine) {
        pthread_once(&once, make_key);
        mine = calloc(1, sizeof *mine);
        pthread_setspecific(key, mine);
    }
    return mine;
}

HIDDEN void mt_autorelease(id object) {
    struct stack *s = stack();
    if (s->count == s->room) {
        s->room = s->room ? 2 * s->room : 256;
        s->objects = realloc(s->objects, s->room * sizeof *s->objects);
    }
    s->objects[s->count++] = object;
}

void *objc_autoreleasePoolPush(void) { return (void *)(stack()->count + 1); }

void objc_autoreleasePoolPop(void *pool) {
    if (!pool)
        return;
    struct stack *s = stack();
    if ((size_t)pool - 1 <= s->count)
        pop_to(s, (size_t)pool - 1);
}
