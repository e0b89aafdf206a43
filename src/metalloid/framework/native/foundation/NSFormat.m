// Foundation's formats: printf's, and %@ for objects.
#include "common.h"
#include <time.h>

struct growing {
    char *text;
    size_t size, room;
};

static void add(struct growing *to, const char *text, size_t size) {
    if (to->size + size + 1 > to->room) {
        to->room = 2 * (to->size + size + 1);
        to->text = realloc(to->text, to->room);
    }
    memcpy(to->text + to->size, text, size);
    to->size += size;
    to->text[to->size] = 0;
}

// One directive with its value, as printf writes it.
static void directive(struct growing *to, char *format, char length, char kind, va_list *rest) {
    char *made = 0;
    int size;
    if (strchr("eEfFgGaA", kind))
        size = asprintf(&made, format, va_arg(*rest, double));
    else if (kind == 's' || kind == 'p')
        size = asprintf(&made, format, va_arg(*rest, void *));
    else if (length == 'l' || length == 'q' || length == 'j' || length == 'z' || length == 't')
        size = asprintf(&made, format, va_arg(*rest, long));
    else
        size = asprintf(&made, format, va_arg(*rest, int));
    if (size >= 0)
        add(to, made, (size_t)size);
    free(made);
}

char *mt_formatted(const char *format, va_list *rest) {
    struct growing to = {0};
    add(&to, "", 0);
    while (*format) {
        const char *percent = strchr(format, '%');
        if (!percent) {
            add(&to, format, strlen(format));
            break;
        }
        add(&to, format, (size_t)(percent - format));
        char one[64];
        size_t n = 0;
        const char *at = percent;
        char length = 0;
        do {
            if (*at == '*')
                n += (size_t)snprintf(one + n, sizeof one - n, "%d", va_arg(*rest, int));
            else
                one[n++] = *at;
            if (strchr("lqjzt", *at) && *at)
                length = *at;
            at++;
        } while (*at && strchr("0123456789.-+ #'*hlqjztL", *at) && n < sizeof one - 16);
        char kind = *at;
        if (!kind)
            break;
        one[n++] = kind == 'D' ? 'd' : kind == 'U' ? 'u' : kind == 'C' ? 'c' : kind;
        one[n] = 0;
        format = at + 1;
        if (kind == '%')
            add(&to, "%", 1);
        else if (kind == '@') {
            id object = va_arg(*rest, id);
            const char *words = object ? [[object description] UTF8String] : "(null)";
            add(&to, words, strlen(words));
        } else
            directive(&to, one, length, kind, rest);
    }
    return to.text;
}

void NSLog(NSString *format, ...) {
    va_list rest;
    va_start(rest, format);
    char *text = mt_formatted(format.UTF8String, &rest), when[32];
    va_end(rest);
    time_t now = time(0);
    struct tm parts;
    strftime(when, sizeof when, "%F %T", localtime_r(&now, &parts));
    fprintf(stderr, "%s %s[%d] %s\n", when, [NSProcessInfo processInfo].processName.UTF8String, getpid(), text);
    free(text);
}
