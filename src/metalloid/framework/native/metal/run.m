// Running a command buffer. Launches that were made before run from here; stretches of others go to Python at once.
#include "objects.h"

enum { AT_ONCE = 256 };

// Threadgroups that a kernel before this one has written.
static void read_indirect(struct command *command) {
    for (int i = 0; i < 3; i++)
        command->words[1 + i] = (uint64_t)command->indirect[i] * command->words[4 + i];
}

static int64_t ask_python(_MTLCommandBuffer *buffer, struct command **commands, size_t count, char *words) {
    double compiled = 0;
    const uint64_t *list[AT_ONCE];
    struct mt_ready ready[AT_ONCE];
    memset(ready, 0, count * sizeof *ready);
    for (size_t i = 0; i < count; i++)
        list[i] = commands[i]->words;
    int64_t code = mt_bridge.run(list, count, ready, &compiled, words);
    buffer->compiled += compiled;
    for (size_t i = 0; i < count; i++)
        if (ready[i].plan)
            mt_plan_keep(commands[i], &ready[i]);
    return code;
}

static int64_t dispatches(_MTLCommandBuffer *buffer, struct command **at, char *words) {
    struct command *waiting[AT_ONCE];
    size_t count = 0;
    for (int64_t code; *at && (*at)->kind == DISPATCH; *at = (*at)->next) {
        if ((*at)->indirect) {
            if (count)
                break;  // those before it may write what it reads
            read_indirect(*at);
        }
        struct plan *plan = count ? 0 : mt_plan_of(*at);
        if (plan) {
            if ((code = mt_plan_run(plan, *at, words)))
                return code;
            continue;
        }
        waiting[count++] = *at;
        if (count == AT_ONCE || (*at)->indirect) {
            *at = (*at)->next;
            break;
        }
    }
    return count ? ask_python(buffer, waiting, count, words) : 0;
}

// 0, or a kind of error.
static int64_t run_other(_MTLCommandBuffer *buffer, struct command *at, char **words) {
    switch (at->kind) {
    case COPY: memmove(at->to, at->from, at->size); break;
    case FILL: memset(at->to, (int)at->value, at->size); break;
    case SIGNAL: at->event.signaledValue = at->value; break;
    case WAIT:
        if ([at->event reached:at->value within:at->size ? (int64_t)at->size * 1000000 : -1])
            break;
        *words = *words ? *words : calloc(1, ERROR_ROOM);
        snprintf(*words, ERROR_ROOM, "an event did not reach %llu within %zu ms", (unsigned long long)at->value, at->size);
        return MTLCommandBufferErrorTimeout;
    case SIGNPOST: TRACE("signpost", "encoder", "%s", at->during); break;
    case EXECUTE: mt_expand(buffer, at); break;
    case RESET: mt_reset_commands(at); break;
    case SAMPLE: mt_take_sample(buffer, at); break;
    default: break;
    }
    return 0;
}

NSString *mt_run(_MTLCommandBuffer *buffer, NSInteger *code) {
    char *words = 0;
    for (struct command *at = buffer->commands; at && !*code;) {
        if (at->kind == DISPATCH) {
            words = words ? words : calloc(1, ERROR_ROOM);
            *code = dispatches(buffer, &at, words);
            continue;
        }
        *code = run_other(buffer, at, &words);
        at = at->next;
    }
    NSString *failed = *code ? [NSString stringWithUTF8String:words] : nil;
    free(words);
    return failed;
}
