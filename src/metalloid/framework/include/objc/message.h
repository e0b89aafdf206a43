// Sending messages from C: cast the function to the method's type before the call.
#ifndef METALLOID_OBJC_MESSAGE_H
#define METALLOID_OBJC_MESSAGE_H

#include <objc/objc.h>

struct objc_super {
    id receiver;
    Class super_class;
};

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wincompatible-library-redeclaration"  // clang thinks it knows them
OBJC_EXPORT id objc_msgSend(id self, SEL selector, ...);
OBJC_EXPORT void objc_msgSend_stret(id self, SEL selector, ...);
OBJC_EXPORT float objc_msgSend_fpret(id self, SEL selector, ...);
#pragma clang diagnostic pop
OBJC_EXPORT id objc_msgSendSuper(struct objc_super *super, SEL selector, ...);

#endif
