// Small questions about classes, objects and methods.
#include "runtime.h"
#include <objc/runtime.h>
#include <string.h>

Class object_getClass(id object) { return object ? object->isa : 0; }

Class object_setClass(id object, Class cls) {
    Class was = object ? object->isa : 0;
    if (object)
        object->isa = cls;
    return was;
}

const char *object_getClassName(id object) { return class_getName(object_getClass(object)); }
const char *class_getName(Class cls) { return cls ? cls->name : "nil"; }
Class class_getSuperclass(Class cls) { return cls ? cls->super_class : 0; }
BOOL class_isMetaClass(Class cls) { return cls && cls->info & METACLASS; }
size_t class_getInstanceSize(Class cls) { return cls ? (size_t)cls->instance_size : 0; }
const char *protocol_getName(Protocol *protocol) { return protocol ? ((struct protocol *)protocol)->name : 0; }

BOOL class_respondsToSelector(Class cls, SEL selector) {
    return cls && selector && mt_find(cls, selector->name) != 0;
}

Method class_getInstanceMethod(Class cls, SEL selector) {
    struct method *found = 0;
    for (; cls && selector && !found; cls = cls->super_class)
        found = mt_own_method(cls, selector->name);
    return (Method)found;
}

Method class_getClassMethod(Class cls, SEL selector) { return class_getInstanceMethod(object_getClass((id)cls), selector); }

IMP class_getMethodImplementation(Class cls, SEL selector) {
    return cls && selector ? (IMP)mt_find(cls, selector->name) : 0;
}

IMP method_getImplementation(Method method) { return method ? (IMP)((struct method *)method)->imp : 0; }
SEL method_getName(Method method) { return method ? sel_registerName(((struct method *)method)->name) : 0; }
const char *method_getTypeEncoding(Method method) { return method ? ((struct method *)method)->types : 0; }
