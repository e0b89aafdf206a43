// Dictionaries and sets over one table.
#include "common.h"

static NSUInteger place(struct mt_table *t, id key) {  // where its number stands in the index, or the free place
    NSUInteger at = [key hash] * 0x9E3779B97F4A7C15ull >> 20;
    for (;; at++) {
        unsigned number = t->index[at & t->mask];
        if (!number || t->keys[number - 1] == key || [t->keys[number - 1] isEqual:key])
            return at & t->mask;
    }
}

static void grow(struct mt_table *t) {
    t->room = t->room ? 2 * t->room : 8;
    t->mask = 2 * t->room - 1;
    t->keys = realloc(t->keys, t->room * sizeof(id));
    t->values = realloc(t->values, t->room * sizeof(id));
    free(t->index);
    t->index = calloc(t->mask + 1, sizeof *t->index);
    for (NSUInteger i = 0; i < t->count; i++)
        t->index[place(t, t->keys[i])] = (unsigned)i + 1;
}

static id get(struct mt_table *t, id key) {
    unsigned number = t->count && key ? t->index[place(t, key)] : 0;
    return number ? t->values[number - 1] : nil;
}

static void put(struct mt_table *t, id key, id value, BOOL copies) {
    if (!key || !value)
        mt_die("*** Terminating app due to uncaught exception 'NSInvalidArgumentException', reason: '*** -[NSDictionary"
               " setObject:forKey:]: %s cannot be nil'", key ? "object" : "key");
    if (t->count == t->room)
        grow(t);
    unsigned *number = &t->index[place(t, key)];
    if (*number) {
        id gone = t->values[*number - 1];
        t->values[*number - 1] = [value retain];
        [gone release];
        return;
    }
    t->keys[t->count] = copies ? [key copy] : [key retain];
    t->values[t->count] = [value retain];
    *number = (unsigned)++t->count;
    t->changes++;
}

static void drop(struct mt_table *t, id key) {
    unsigned number = t->count && key ? t->index[place(t, key)] : 0;
    if (!number)
        return;
    id gone = t->keys[number - 1], value = t->values[number - 1];
    memmove(t->keys + number - 1, t->keys + number, (t->count - number) * sizeof(id));
    memmove(t->values + number - 1, t->values + number, (t->count - number) * sizeof(id));
    t->count--;
    t->changes++;
    memset(t->index, 0, (t->mask + 1) * sizeof *t->index);
    for (NSUInteger i = 0; i < t->count; i++)
        t->index[place(t, t->keys[i])] = (unsigned)i + 1;
    [gone release];
    [value release];
}

static void clear(struct mt_table *t) {
    for (NSUInteger i = 0; i < t->count; i++) {
        [t->keys[i] release];
        [t->values[i] release];
    }
    free(t->keys);
    free(t->values);
    free(t->index);
    *t = (struct mt_table){.changes = t->changes + 1};
}

static NSUInteger enumerate(struct mt_table *t, NSFastEnumerationState *state) {
    if (state->state || !t->count)
        return 0;
    state->state = 1;
    state->itemsPtr = t->keys;
    state->mutationsPtr = &t->changes;
    return t->count;
}

static void pairs(struct mt_table *t, id first, va_list rest) {
    for (id value = first; value; value = va_arg(rest, id))
        put(t, va_arg(rest, id), value, YES);
}

@interface NSEnumerator (Over)
+ (instancetype)over:(NSArray *)items;
@end

@implementation NSDictionary
+ (instancetype)dictionary { return [[[self alloc] init] autorelease]; }
+ (instancetype)dictionaryWithObject:(id)object forKey:(id)key { return [self dictionaryWithObjects:&object forKeys:&key count:1]; }
+ (instancetype)dictionaryWithObjects:(const id[])objects forKeys:(const id[])keys count:(NSUInteger)count {
    return [[[self alloc] initWithObjects:objects forKeys:keys count:count] autorelease];
}
+ (instancetype)dictionaryWithObjects:(NSArray *)objects forKeys:(NSArray *)keys {
    NSDictionary *made = [self dictionary];
    for (NSUInteger i = 0; i < keys.count; i++)
        put(&made->_table, keys[i], objects[i], YES);
    return made;
}
+ (instancetype)dictionaryWithObjectsAndKeys:(id)first, ... {
    NSDictionary *made = [self dictionary];
    va_list rest;
    va_start(rest, first);
    pairs(&made->_table, first, rest);
    va_end(rest);
    return made;
}
+ (instancetype)dictionaryWithDictionary:(NSDictionary *)dictionary { return [[[self alloc] initWithDictionary:dictionary] autorelease]; }
- (instancetype)initWithObjects:(const id[])objects forKeys:(const id[])keys count:(NSUInteger)count {
    for (NSUInteger i = 0; i < count; i++)
        put(&_table, keys[i], objects[i], YES);
    return self;
}
- (instancetype)initWithObjectsAndKeys:(id)first, ... {
    va_list rest;
    va_start(rest, first);
    pairs(&_table, first, rest);
    va_end(rest);
    return self;
}
- (instancetype)initWithDictionary:(NSDictionary *)dictionary {
    return [self initWithObjects:dictionary->_table.values forKeys:dictionary->_table.keys count:dictionary->_table.count];
}
- (void)dealloc {
    clear(&_table);
    [super dealloc];
}
- (id)copyWithZone:(NSZone *)zone { return [self retain]; }
- (id)mutableCopyWithZone:(NSZone *)zone { return [[NSMutableDictionary alloc] initWithDictionary:self]; }
- (NSUInteger)count { return _table.count; }
- (id)objectForKey:(id)key { return get(&_table, key); }
- (id)objectForKeyedSubscript:(id)key { return get(&_table, key); }
- (id)valueForKey:(NSString *)key { return get(&_table, key); }
- (NSArray *)allKeys { return [NSArray arrayWithObjects:_table.keys count:_table.count]; }
- (NSArray *)allValues { return [NSArray arrayWithObjects:_table.values count:_table.count]; }
- (NSEnumerator *)keyEnumerator { return [NSEnumerator over:self.allKeys]; }
- (NSEnumerator *)objectEnumerator { return [NSEnumerator over:self.allValues]; }
- (NSUInteger)hash { return _table.count; }
- (BOOL)isEqual:(id)object { return [object isKindOfClass:[NSDictionary class]] && [self isEqualToDictionary:object]; }
- (BOOL)isEqualToDictionary:(NSDictionary *)dictionary {
    if (_table.count != dictionary.count)
        return NO;
    for (NSUInteger i = 0; i < _table.count; i++)
        if (![_table.values[i] isEqual:[dictionary objectForKey:_table.keys[i]]])
            return NO;
    return YES;
}
- (NSString *)description {
    NSMutableString *made = [NSMutableString stringWithUTF8String:"{\n"];
    for (NSUInteger i = 0; i < _table.count; i++)
        [made appendFormat:@"    %@ = %@;\n", _table.keys[i], _table.values[i]];
    [made appendString:@"}"];
    return made;
}
- (void)enumerateKeysAndObjectsUsingBlock:(void (^)(id key, id object, BOOL *stop))block {
    BOOL stop = NO;
    for (NSUInteger i = 0; i < _table.count && !stop; i++)
        block(_table.keys[i], _table.values[i], &stop);
}
- (NSUInteger)countByEnumeratingWithState:(NSFastEnumerationState *)state objects:(id *)objects count:(NSUInteger)count {
    return enumerate(&_table, state);
}
@end

@implementation NSMutableDictionary
+ (instancetype)dictionaryWithCapacity:(NSUInteger)capacity { return [self dictionary]; }
- (instancetype)initWithCapacity:(NSUInteger)capacity { return [self init]; }
- (id)copyWithZone:(NSZone *)zone { return [[NSDictionary alloc] initWithDictionary:self]; }
- (void)setObject:(id)object forKey:(id)key { put(&_table, key, object, YES); }
- (void)setObject:(id)object forKeyedSubscript:(id)key {
    if (object)
        put(&_table, key, object, YES);
    else
        drop(&_table, key);
}
- (void)setValue:(id)value forKey:(NSString *)key { [self setObject:value forKeyedSubscript:key]; }
- (void)removeObjectForKey:(id)key { drop(&_table, key); }
- (void)removeAllObjects { clear(&_table); }
- (void)addEntriesFromDictionary:(NSDictionary *)dictionary {
    for (id key in [[dictionary copy] autorelease])
        put(&_table, key, [dictionary objectForKey:key], YES);
}
@end

@implementation NSSet
+ (instancetype)set { return [[[self alloc] init] autorelease]; }
+ (instancetype)setWithObject:(id)object { return [self setWithObjects:&object count:1]; }
+ (instancetype)setWithObjects:(const id[])objects count:(NSUInteger)count {
    return [[[self alloc] initWithObjects:objects count:count] autorelease];
}
+ (instancetype)setWithObjects:(id)first, ... {
    NSSet *made = [self set];
    va_list rest;
    va_start(rest, first);
    for (id one = first; one; one = va_arg(rest, id))
        put(&made->_table, one, one, NO);
    va_end(rest);
    return made;
}
+ (instancetype)setWithArray:(NSArray *)array { return [[[self alloc] initWithArray:array] autorelease]; }
- (instancetype)initWithObjects:(const id[])objects count:(NSUInteger)count {
    for (NSUInteger i = 0; i < count; i++)
        put(&_table, objects[i], objects[i], NO);
    return self;
}
- (instancetype)initWithArray:(NSArray *)array {
    for (id one in array)
        put(&_table, one, one, NO);
    return self;
}
- (void)dealloc {
    clear(&_table);
    [super dealloc];
}
- (id)copyWithZone:(NSZone *)zone { return [self retain]; }
- (id)mutableCopyWithZone:(NSZone *)zone { return [[NSMutableSet alloc] initWithObjects:_table.keys count:_table.count]; }
- (NSUInteger)count { return _table.count; }
- (NSArray *)allObjects { return [NSArray arrayWithObjects:_table.keys count:_table.count]; }
- (id)member:(id)object { return get(&_table, object); }
- (BOOL)containsObject:(id)object { return get(&_table, object) != nil; }
- (id)anyObject { return _table.count ? _table.keys[0] : nil; }
- (NSEnumerator *)objectEnumerator { return [NSEnumerator over:self.allObjects]; }
- (NSUInteger)countByEnumeratingWithState:(NSFastEnumerationState *)state objects:(id *)objects count:(NSUInteger)count {
    return enumerate(&_table, state);
}
@end

@implementation NSMutableSet
- (id)copyWithZone:(NSZone *)zone { return [[NSSet alloc] initWithObjects:_table.keys count:_table.count]; }
- (void)addObject:(id)object { put(&_table, object, object, NO); }
- (void)removeObject:(id)object { drop(&_table, object); }
- (void)removeAllObjects { clear(&_table); }
@end
