// Running a command buffer: stretches of dispatches go to Python with one call, the rest is done here.
#include "objects.h"

enum { AT_ONCE = 256 };

// Threadgroups that a kernel before this one has written.
static void read_indirect(struct command *command) {
    for (int i = 0; i < 3; i++)
        command->words[1 + i] = (uint64_t)command->indirect[i] * command->words[4 + i];
}

static int64_t dispatches(struct command **at, char *words) {
    const uint64_t *list[AT_ONCE];
    size_t count = 0;
    while (*at && (*at)->kind == DISPATCH && count < AT_ONCE && !(count && (*at)->indirect)) {
        if ((*at)->indirect)
            read_indirect(*at);
        list[count++] = (*at)->words;
        *at = (*at)->next;
    }
    return mt_bridge.run(list, count, words);
}

NSString *mt_run(_MTLCommandBuffer *buffer, NSInteger *code) {
    char *words = 0;
    for (struct command *at = buffer->commands; at && !*code;) {
        if (at->kind == DISPATCH) {
            words = words ? words : calloc(1, ERROR_ROOM);
            *code = dispatches(&at, words);
            continue;
        }
        if (at->kind == COPY)
            memmove(at->to, at->from, at->size);
        else if (at->kind == FILL)
            memset(at->to, (int)at->value, at->size);
        else if (at->kind == SIGNAL)
            at->event.signaledValue = at->value;
        else
            [at->event reached:at->value within:-1];
        at = at->next;
    }
    NSString *failed = *code ? [NSString stringWithUTF8String:words] : nil;
    free(words);
    return failed;
}
