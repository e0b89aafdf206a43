// Arrays. One class holds the items; the mutable one adds the ways to change them.
#include "common.h"

static _Noreturn void outside(const char *method, NSUInteger index, NSUInteger count) {
    mt_die("*** Terminating app due to uncaught exception 'NSRangeException', reason: '*** %s: index %lu beyond bounds"
           " [0 .. %ld]'", method, index, (long)count - 1);
}

static void gather(NSMutableArray *to, id first, va_list rest) {
    for (id one = first; one; one = va_arg(rest, id))
        [to addObject:one];
}

@implementation NSEnumerator
+ (instancetype)over:(NSArray *)items {
    NSEnumerator *made = [[[self alloc] init] autorelease];
    made->_items = [items retain];
    return made;
}
- (id)nextObject { return _at < [_items count] ? [_items objectAtIndex:_at++] : nil; }
- (id)allObjects {
    NSArray *rest = [_items subarrayWithRange:NSMakeRange(_at, [_items count] - _at)];
    _at = [_items count];
    return rest;
}
- (NSUInteger)countByEnumeratingWithState:(NSFastEnumerationState *)state objects:(id *)objects count:(NSUInteger)count {
    return [_items countByEnumeratingWithState:state objects:objects count:count];
}
- (void)dealloc {
    [_items release];
    [super dealloc];
}
@end

@interface NSArray (Items)
- (id *)items;
@end

@implementation NSArray
+ (instancetype)array { return [[[self alloc] init] autorelease]; }
+ (instancetype)arrayWithObject:(id)object { return [self arrayWithObjects:&object count:1]; }
+ (instancetype)arrayWithObjects:(id)first, ... {
    NSMutableArray *made = [NSMutableArray array];
    va_list rest;
    va_start(rest, first);
    gather(made, first, rest);
    va_end(rest);
    return [self arrayWithArray:made];
}
+ (instancetype)arrayWithObjects:(const id[])objects count:(NSUInteger)count {
    return [[[self alloc] initWithObjects:objects count:count] autorelease];
}
+ (instancetype)arrayWithArray:(NSArray *)array { return [[[self alloc] initWithArray:array] autorelease]; }
- (instancetype)initWithObjects:(const id[])objects count:(NSUInteger)count {
    _items = malloc((count ? count : 1) * sizeof *_items);
    _count = _room = count;
    for (NSUInteger i = 0; i < count; i++) {
        if (!objects[i])
            mt_die("*** Terminating app due to uncaught exception 'NSInvalidArgumentException', reason: '*** -[NSArray"
                   " initWithObjects:count:]: attempt to insert nil object from objects[%lu]'", i);
        _items[i] = [objects[i] retain];
    }
    return self;
}
- (instancetype)initWithObjects:(id)first, ... {
    NSMutableArray *made = [NSMutableArray array];
    va_list rest;
    va_start(rest, first);
    gather(made, first, rest);
    va_end(rest);
    return [self initWithArray:made];
}
- (instancetype)initWithArray:(NSArray *)array { return [self initWithObjects:array->_items count:array->_count]; }
- (void)dealloc {
    for (NSUInteger i = 0; i < _count; i++)
        [_items[i] release];
    free(_items);
    [super dealloc];
}
- (id)copyWithZone:(NSZone *)zone { return [self retain]; }
- (id)mutableCopyWithZone:(NSZone *)zone { return [[NSMutableArray alloc] initWithArray:self]; }
- (NSUInteger)count { return _count; }
- (id *)items { return _items; }
- (id)objectAtIndex:(NSUInteger)index {
    if (index >= _count)
        outside("-[NSArray objectAtIndex:]", index, _count);
    return _items[index];
}
- (id)objectAtIndexedSubscript:(NSUInteger)index { return [self objectAtIndex:index]; }
- (id)object:(NSUInteger)index { return [self objectAtIndex:index]; }
- (id)firstObject { return _count ? _items[0] : nil; }
- (id)lastObject { return _count ? _items[_count - 1] : nil; }
- (NSUInteger)indexOfObject:(id)object {
    for (NSUInteger i = 0; i < _count; i++)
        if (_items[i] == object || [_items[i] isEqual:object])
            return i;
    return (NSUInteger)NSNotFound;
}
- (BOOL)containsObject:(id)object { return [self indexOfObject:object] != (NSUInteger)NSNotFound; }
- (BOOL)isEqualToArray:(NSArray *)array {
    if (_count != array->_count)
        return NO;
    for (NSUInteger i = 0; i < _count; i++)
        if (![_items[i] isEqual:array->_items[i]])
            return NO;
    return YES;
}
- (BOOL)isEqual:(id)object { return [object isKindOfClass:[NSArray class]] && [self isEqualToArray:object]; }
- (NSUInteger)hash { return _count; }
- (NSArray *)arrayByAddingObject:(id)object {
    NSMutableArray *made = [[self mutableCopy] autorelease];
    [made addObject:object];
    return made;
}
- (NSArray *)subarrayWithRange:(NSRange)range {
    if (range.location > _count || range.length > _count - range.location)
        outside("-[NSArray subarrayWithRange:]", NSMaxRange(range), _count);
    return [NSArray arrayWithObjects:_items + range.location count:range.length];
}
- (NSString *)componentsJoinedByString:(NSString *)string {
    NSMutableString *made = [NSMutableString string];
    for (NSUInteger i = 0; i < _count; i++) {
        if (i)
            [made appendString:string];
        [made appendString:[_items[i] description]];
    }
    return made;
}
- (NSString *)description { return mt_text("(\n    %s\n)", [self componentsJoinedByString:@",\n    "].UTF8String); }
- (void)enumerateObjectsUsingBlock:(void (^)(id object, NSUInteger index, BOOL *stop))block {
    BOOL stop = NO;
    for (NSUInteger i = 0; i < _count && !stop; i++)
        block(_items[i], i, &stop);
}
- (NSEnumerator *)objectEnumerator { return [(id)[NSEnumerator class] over:self]; }
- (NSArray *)sortedArrayUsingSelector:(SEL)comparator {
    NSMutableArray *made = [[self mutableCopy] autorelease];
    [made sortUsingSelector:comparator];
    return made;
}
- (NSArray *)sortedArrayUsingComparator:(NSComparisonResult (^)(id, id))comparator {
    NSMutableArray *made = [[self mutableCopy] autorelease];
    id *items = [made items];
    for (NSUInteger i = 1; i < _count; i++)
        for (NSUInteger j = i; j && comparator(items[j - 1], items[j]) == NSOrderedDescending; j--) {
            id one = items[j];
            items[j] = items[j - 1];
            items[j - 1] = one;
        }
    return made;
}
- (NSUInteger)countByEnumeratingWithState:(NSFastEnumerationState *)state objects:(id *)objects count:(NSUInteger)count {
    if (state->state || !_count)
        return 0;
    state->state = 1;
    state->itemsPtr = _items;
    state->mutationsPtr = &_changes;
    return _count;
}
@end

@implementation NSMutableArray
+ (instancetype)arrayWithCapacity:(NSUInteger)capacity { return [self array]; }
- (instancetype)initWithCapacity:(NSUInteger)capacity { return [self init]; }
- (id)copyWithZone:(NSZone *)zone { return [[NSArray alloc] initWithArray:self]; }
- (void)addObject:(id)object { [self insertObject:object atIndex:_count]; }
- (void)addObjectsFromArray:(NSArray *)array {
    for (id one in [[array copy] autorelease])
        [self addObject:one];
}
- (void)insertObject:(id)object atIndex:(NSUInteger)index {
    if (!object)
        mt_die("*** Terminating app due to uncaught exception 'NSInvalidArgumentException', reason: '*** -[NSMutableArray"
               " insertObject:atIndex:]: object cannot be nil'");
    if (index > _count)
        outside("-[NSMutableArray insertObject:atIndex:]", index, _count);
    if (_count == _room) {
        _room = _room ? 2 * _room : 8;
        _items = realloc(_items, _room * sizeof *_items);
    }
    memmove(_items + index + 1, _items + index, (_count - index) * sizeof *_items);
    _items[index] = [object retain];
    _count++;
    _changes++;
}
- (void)removeObjectAtIndex:(NSUInteger)index {
    if (index >= _count)
        outside("-[NSMutableArray removeObjectAtIndex:]", index, _count);
    id gone = _items[index];
    memmove(_items + index, _items + index + 1, (--_count - index) * sizeof *_items);
    _changes++;
    [gone release];
}
- (void)removeObject:(id)object {
    [[object retain] autorelease];
    for (NSUInteger i = _count; i--;)
        if (_items[i] == object || [_items[i] isEqual:object])
            [self removeObjectAtIndex:i];
}
- (void)removeLastObject { [self removeObjectAtIndex:_count - 1]; }
- (void)removeAllObjects {
    while (_count)
        [self removeLastObject];
}
- (void)replaceObjectAtIndex:(NSUInteger)index withObject:(id)object {
    if (index >= _count)
        outside("-[NSMutableArray replaceObjectAtIndex:withObject:]", index, _count);
    id gone = _items[index];
    _items[index] = [object retain];
    [gone release];
}
- (void)setObject:(id)object atIndexedSubscript:(NSUInteger)index {
    if (index == _count)
        [self addObject:object];
    else
        [self replaceObjectAtIndex:index withObject:object];
}
- (void)sortUsingSelector:(SEL)comparator {
    NSComparisonResult (*compare)(id, SEL, id) = (NSComparisonResult(*)(id, SEL, id))objc_msgSend;
    NSArray *sorted = [self sortedArrayUsingComparator:^(id one, id other) {
        return compare(one, comparator, other);
    }];
    memcpy(_items, sorted->_items, _count * sizeof *_items);  // the same objects: each keeps its reference
}
@end
