// What the framework's own Objective-C files share.
#pragma once
#include <Foundation/Foundation.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))
#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN void mt_retain(id object);
HIDDEN int mt_release(id object);  // whether it was the last reference
HIDDEN long mt_references(id object);
HIDDEN void mt_autorelease(id object);
HIDDEN _Noreturn void mt_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

// A thread of a Python program may hold the interpreter's lock, which work in the background needs: it is given
// away while the thread waits.
HIDDEN void *mt_wait_begins(void);
HIDDEN void mt_wait_ends(void *state);

HIDDEN NSString *mt_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
HIDDEN char *mt_formatted(const char *format, va_list *arguments);  // Foundation's formats; the caller frees it
HIDDEN NSError *mt_error(NSString *domain, NSInteger code, NSString *words);
