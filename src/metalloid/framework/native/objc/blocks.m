// Blocks: closures that live on the stack until somebody copies them, and the variables that they share.
#include "../foundation/common.h"
#include <Block.h>
#include <stdlib.h>
#include <string.h>

enum {
    REFERENCES = 0xfffe,  // counted in twos
    NEEDS_FREE = 1 << 24,
    HAS_HELPERS = 1 << 25,
    IS_GLOBAL = 1 << 28,
    FIELD_OBJECT = 3, FIELD_BLOCK = 7, FIELD_BYREF = 8, FIELD_WEAK = 16, FROM_BYREF = 128,
};

struct descriptor {
    unsigned long reserved, size;
    void (*copy)(void *to, const void *from);
    void (*dispose)(const void *block);
};

struct block {
    void *isa;
    int flags, reserved;
    void (*invoke)(void *, ...);
    struct descriptor *descriptor;
};

struct shared {
    void *isa;
    struct shared *forwarding;
    int flags, size;
    void (*keep)(struct shared *to, struct shared *from);
    void (*destroy)(struct shared *);
};

@interface NSBlock : NSObject
@end
@interface MTStackBlock : NSBlock
@end
@interface MTMallocBlock : NSBlock
@end
@interface MTGlobalBlock : NSBlock
@end

@implementation NSBlock
- (id)retain { return _Block_copy(self); }
- (oneway void)release { _Block_release(self); }
- (id)copy { return _Block_copy(self); }
- (id)autorelease { mt_autorelease(self); return self; }
- (NSUInteger)retainCount { return 1; }
- (void)dealloc { if (0) [super dealloc]; }
@end
@implementation MTStackBlock
@end
@implementation MTMallocBlock
@end
@implementation MTGlobalBlock
@end

// The compiler writes the address of these into every block: they are the classes above.
#define SAME(name, cls) __asm__(".globl " #name "\n.set " #name ", _OBJC_CLASS_" #cls "\n")
SAME(_NSConcreteStackBlock, MTStackBlock);
SAME(_NSConcreteMallocBlock, MTMallocBlock);
SAME(_NSConcreteGlobalBlock, MTGlobalBlock);
extern struct objc_class _OBJC_CLASS_MTMallocBlock;

void *_Block_copy(const void *from) {
    struct block *block = (struct block *)from;
    if (!block || block->flags & IS_GLOBAL)
        return block;
    if (block->flags & NEEDS_FREE) {
        __atomic_fetch_add(&block->flags, 2, __ATOMIC_RELAXED);
        return block;
    }
    struct block *made = malloc(block->descriptor->size);
    memcpy(made, block, block->descriptor->size);
    made->isa = &_OBJC_CLASS_MTMallocBlock;
    made->flags = (block->flags & ~REFERENCES) | NEEDS_FREE | 2;
    if (made->flags & HAS_HELPERS)
        made->descriptor->copy(made, block);
    return made;
}

void _Block_release(const void *of) {
    struct block *block = (struct block *)of;
    if (!block || block->flags & IS_GLOBAL || !(block->flags & NEEDS_FREE))
        return;
    int had = __atomic_fetch_sub(&block->flags, 2, __ATOMIC_ACQ_REL);
    if ((had & REFERENCES) != 2)
        return;
    if (block->flags & HAS_HELPERS)
        block->descriptor->dispose(block);
    free(block);
}

static struct shared *shared_copy(struct shared *from) {
    struct shared *there = from->forwarding;
    if (there->flags & NEEDS_FREE) {
        __atomic_fetch_add(&there->flags, 2, __ATOMIC_RELAXED);
        return there;
    }
    struct shared *made = malloc((size_t)there->size);
    memcpy(made, there, (size_t)there->size);
    made->flags = (there->flags & ~REFERENCES) | NEEDS_FREE | 4;  // this block's and the stack's
    made->forwarding = made;
    there->forwarding = made;
    if (there->flags & HAS_HELPERS)
        there->keep(made, there);
    return made;
}

static void shared_release(struct shared *shared) {
    struct shared *there = shared->forwarding;
    if (!(there->flags & NEEDS_FREE))
        return;
    int had = __atomic_fetch_sub(&there->flags, 2, __ATOMIC_ACQ_REL);
    if ((had & REFERENCES) != 2)
        return;
    if (there->flags & HAS_HELPERS)
        there->destroy(there);
    free(there);
}

EXPORT void _Block_object_assign(void *to, const void *value, int kind) {
    if (kind & FROM_BYREF)  // a __block variable does not retain what it holds
        *(const void **)to = value;
    else if ((kind & 15) == FIELD_BYREF)
        *(void **)to = shared_copy((struct shared *)value);
    else if ((kind & 15) == FIELD_BLOCK)
        *(void **)to = _Block_copy(value);
    else
        *(void **)to = objc_retain((id)value);
}

EXPORT void _Block_object_dispose(const void *value, int kind) {
    if (kind & FROM_BYREF)
        return;
    if ((kind & 15) == FIELD_BYREF)
        shared_release((struct shared *)value);
    else if ((kind & 15) == FIELD_BLOCK)
        _Block_release(value);
    else
        objc_release((id)value);
}
