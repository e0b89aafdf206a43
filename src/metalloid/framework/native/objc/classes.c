// Classes: how the compiler's tables become classes, by name; what can be asked of them.
#include "runtime.h"
#include <objc/runtime.h>
#include <stdlib.h>
#include <string.h>

struct named {
    struct named *next;
    const char *name;
    void *thing;
};

struct symtab {
    unsigned long selector_count;
    struct objc_selector *selectors;
    unsigned short class_count, category_count;
    void *defined[];
};

struct module {
    unsigned long version, size;
    const char *name;
    struct symtab *symtab;
};

struct category {
    const char *name, *class_name;
    struct method_list *instance_methods, *class_methods;
    struct protocol_list *protocols;
};

enum { BUCKETS = 512 };
static struct named *classes[BUCKETS], *protocols[BUCKETS];
static struct named *waiting_categories, *unresolved;
extern struct objc_class _OBJC_CLASS_Protocol;

static unsigned bucket_of(const char *name) {
    uint32_t hash = 2166136261u;
    while (*name)
        hash = (hash ^ (unsigned char)*name++) * 16777619u;
    return hash % BUCKETS;
}

static void *named(struct named **table, const char *name) {
    for (struct named *n = name ? table[bucket_of(name)] : 0; n; n = n->next)
        if (!strcmp(n->name, name))
            return n->thing;
    return 0;
}

static void name_it(struct named **place, const char *name, void *thing) {
    struct named *made = malloc(sizeof *made);
    *made = (struct named){*place, name, thing};
    *place = made;
}

static void register_methods(struct method_list *list) {
    for (; list; list = list->next)
        for (int i = 0; i < list->count; i++)
            list->methods[i].name = mt_unique(list->methods[i].name);
}

static void register_protocols(struct protocol_list *list) {
    for (; list; list = list->next)
        for (size_t i = 0; i < list->count; i++) {
            struct protocol *p = list->protocols[i];
            if (!p)
                continue;
            if ((uintptr_t)p->isa < 16) {  // the number of the ABI: seen for the first time
                p->isa = &_OBJC_CLASS_Protocol;
                if (!named(protocols, p->name))
                    name_it(&protocols[bucket_of(p->name)], p->name, p);
                register_protocols(p->protocols);
            }
        }
}

// Places the ivars behind those of the superclass.
static void lay_out(struct objc_class *cls) {
    long above = cls->super_class ? cls->super_class->instance_size : 0;
    if (cls->instance_size > 0 || (cls->instance_size == 0 && !above))
        return;
    cls->instance_size = above - cls->instance_size;
    for (int i = 0; cls->ivars && i < cls->ivars->count; i++) {
        cls->ivars->ivars[i].offset += above;
        if (cls->ivar_offsets && cls->ivar_offsets[i])
            *cls->ivar_offsets[i] = cls->ivars->ivars[i].offset;
    }
}

// Needs the superclass; false where that is not there yet.
static int resolve(struct objc_class *cls) {
    if (cls->info & RESOLVED)
        return 1;
    struct objc_class *above = 0, *root = cls;
    if (cls->super_class) {
        above = named(classes, (const char *)cls->super_class);
        if (!above || !resolve(above))
            return 0;
        for (root = above; root->super_class;)
            root = root->super_class;  // its metaclass is every metaclass's class
    }
    cls->super_class = above;
    cls->isa->super_class = above ? above->isa : cls;
    cls->isa->isa = root->isa;
    cls->info |= RESOLVED;
    cls->isa->info |= RESOLVED;
    lay_out(cls);
    return 1;
}

static void add_category(struct category *category, struct objc_class *cls) {
    if (category->instance_methods) {
        category->instance_methods->next = cls->methods;
        cls->methods = category->instance_methods;
    }
    if (category->class_methods) {
        category->class_methods->next = cls->isa->methods;
        cls->isa->methods = category->class_methods;
    }
    if (category->protocols && category->protocols->count) {
        category->protocols->next = cls->protocols;
        cls->protocols = category->protocols;
    }
    mt_forget_caches();
}

static void settle(void) {
    for (int again = 1; again;) {
        again = 0;
        for (struct named **at = &unresolved; *at;) {
            if (resolve((*at)->thing)) {
                *at = (*at)->next;
                again = 1;
            } else
                at = &(*at)->next;
        }
    }
    for (struct named **at = &waiting_categories; *at;) {
        struct objc_class *cls = named(classes, (*at)->name);
        if (cls) {
            add_category((*at)->thing, cls);
            *at = (*at)->next;
        } else
            at = &(*at)->next;
    }
}

static void add_class(struct objc_class *cls) {
    register_methods(cls->methods);
    register_methods(cls->isa->methods);
    register_protocols(cls->protocols);
    if (named(classes, cls->name))
        return;  // the first of a name stays, as in every runtime
    name_it(&classes[bucket_of(cls->name)], cls->name, cls);
    name_it(&unresolved, cls->name, cls);
}

static void call_load(struct objc_class *cls) {
    struct method *load = mt_own_method(cls->isa, mt_unique("load"));
    if (load)
        ((void (*)(id, SEL))load->imp)((id)cls, sel_registerName("load"));
}

// Called by a constructor of every object file with Objective-C in it.
__attribute__((visibility("default"))) void __objc_exec_class(struct module *module) {
    struct symtab *table = module->symtab;
    mt_lock();
    for (unsigned long i = 0; i < table->selector_count; i++)
        if (table->selectors[i].name)
            table->selectors[i].name = mt_unique(table->selectors[i].name);
    unsigned at = 0;
    for (; at < table->class_count; at++)
        add_class(table->defined[at]);
    for (; at < (unsigned)table->class_count + table->category_count; at++) {
        struct category *category = table->defined[at];
        register_methods(category->instance_methods);
        register_methods(category->class_methods);
        register_protocols(category->protocols);
        if (strcmp(category->class_name, "__ObjC_Protocol_Holder_Ugly_Hack"))
            name_it(&waiting_categories, category->class_name, category);
    }
    settle();
    mt_unlock();
    for (unsigned i = 0; i < table->class_count; i++)
        if (((struct objc_class *)table->defined[i])->info & RESOLVED)
            call_load(table->defined[i]);
}

Class objc_lookUpClass(const char *name) {
    mt_lock();
    struct objc_class *found = named(classes, name);
    mt_unlock();
    return found && found->info & RESOLVED ? found : 0;
}

Class objc_getClass(const char *name) { return objc_lookUpClass(name); }
#define EXPORT __attribute__((visibility("default")))
EXPORT Class objc_lookup_class(const char *name) { return objc_getRequiredClass(name); }
EXPORT Class objc_get_class(const char *name) { return objc_getRequiredClass(name); }

Class objc_getRequiredClass(const char *name) {
    Class found = objc_lookUpClass(name);
    if (!found)
        mt_die("objc: class `%s' is not known: the framework has no class of this name, or its superclass is"
               " missing",
               name);
    return found;
}

Class objc_getMetaClass(const char *name) {
    Class found = objc_lookUpClass(name);
    return found ? found->isa : 0;
}

Protocol *objc_getProtocol(const char *name) {
    mt_lock();
    void *found = named(protocols, name);
    mt_unlock();
    return found;
}

Class objc_allocateClassPair(Class superclass, const char *name, size_t extra) {
    (void)extra;
    if (!name || objc_lookUpClass(name))
        return 0;
    struct objc_class *made = calloc(2, sizeof *made), *meta = made + 1, *root = superclass;
    while (root && root->super_class)
        root = root->super_class;
    *made = (struct objc_class){.isa = meta, .super_class = superclass, .name = strdup(name), .info = CLASS | RESOLVED};
    made->instance_size = superclass ? superclass->instance_size : (long)sizeof(void *);
    *meta = (struct objc_class){.isa = root ? root->isa : meta, .super_class = superclass ? superclass->isa : made};
    meta->name = made->name;
    meta->info = METACLASS | RESOLVED;
    meta->instance_size = sizeof *meta;
    return made;
}

void objc_registerClassPair(Class cls) {
    mt_lock();
    name_it(&classes[bucket_of(cls->name)], cls->name, cls);
    mt_unlock();
}

BOOL class_addMethod(Class cls, SEL selector, IMP implementation, const char *types) {
    if (mt_own_method(cls, selector->name))
        return NO;
    struct method_list *list = malloc(sizeof *list + sizeof *list->methods);
    mt_lock();
    list->count = 1;
    list->methods[0] = (struct method){selector->name, strdup(types ? types : ""), (void *)implementation};
    list->next = cls->methods;
    cls->methods = list;
    mt_forget_caches();
    mt_unlock();
    return YES;
}

BOOL class_addIvar(Class cls, const char *name, size_t size, uint8_t alignment, const char *types) {
    (void)name, (void)types;
    long step = 1L << alignment;
    cls->instance_size = (cls->instance_size + step - 1) / step * step + (long)size;
    return YES;
}

struct method *mt_own_method(struct objc_class *cls, const char *name) {
    for (struct method_list *list = cls->methods; list; list = list->next)
        for (int i = 0; i < list->count; i++)
            if (list->methods[i].name == name)
                return &list->methods[i];
    return 0;
}

static BOOL conforms(struct protocol_list *list, const char *name) {
    for (; list; list = list->next)
        for (size_t i = 0; i < list->count; i++)
            if (list->protocols[i] &&
                (!strcmp(list->protocols[i]->name, name) || conforms(list->protocols[i]->protocols, name)))
                return YES;
    return NO;
}

BOOL class_conformsToProtocol(Class cls, Protocol *protocol) {
    return protocol && cls && conforms(cls->protocols, ((struct protocol *)protocol)->name);
}
