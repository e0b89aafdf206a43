// A dispatch as words for Python, and what its sizes must keep to.
#include "objects.h"

void mt_check_threads(id self, SEL method, _MTLComputePipelineState *pipeline, MTLSize threads) {
    NSUInteger all = threads.width * threads.height * threads.depth, most = mt_bridge.most_threads;
    if (!threads.width || !threads.height || !threads.depth)
        mt_failed_assertion(self, method, "Dispatch Threads Validation\nthreadsPerThreadgroup(%lu, %lu, %lu) must be > 0 in every dimension.", threads.width, threads.height, threads.depth);
    BOOL device = threads.width > most || threads.height > most || threads.depth > most || all > most;
    if (device || all > pipeline->limit)
        mt_failed_assertion(self, method, "Dispatch Threads Validation\n(threadsPerThreadgroup.width(%lu) * threadsPerThreadgroup.height(%lu) * threadsPerThreadgroup.depth(%lu))(%lu) must be <= %lu. (%s threadgroup size limit)", threads.width, threads.height, threads.depth, all, device ? most : pipeline->limit, device ? "device" : "kernel");
}

// handle, grid (3), threadgroup (3), locals, buffers, resources, labels; then locals (1 each), buffers (address, bytes
// from there on, bytes of the allocation below), resources (address, bytes, name). Python reads the same in dispatch.py.
struct command *mt_record(_MTLCommandBuffer *buffer, const struct bindings *now, const char *during, MTLSize grid, MTLSize threads) {
    _MTLComputePipelineState *pipeline = now->pipeline;
    NSUInteger buffers = pipeline->description.buffers;
    size_t words = HEAD + now->locals + 3 * (buffers + now->resourceCount);
    uint64_t *to = [buffer room:words * sizeof *to];
    struct command *command = [buffer room:sizeof *command];
    *command = (struct command){.kind = DISPATCH, .words = to, .pipeline = pipeline};
    uint64_t head[HEAD] = {(uint64_t)pipeline->handle, grid.width, grid.height, grid.depth, threads.width, threads.height,
                           threads.depth, now->locals, buffers, now->resourceCount, (uint64_t)during};
    memcpy(to, head, sizeof head);
    to += HEAD;
    for (NSUInteger i = 0; i < now->locals; i++)
        *to++ = now->local[i];
    for (NSUInteger i = 0; i < buffers; i++) {
        BOOL used = pipeline->description.buffer_mask >> i & 1 && now->bound[i].base;
        *to++ = used ? (uint64_t)(now->bound[i].base + now->bound[i].offset) : 0;
        *to++ = used ? now->bound[i].length - now->bound[i].offset : 0;
        *to++ = used ? now->bound[i].offset : 0;
    }
    memcpy(to, now->resources, 3 * now->resourceCount * sizeof *to);
    return command;
}
