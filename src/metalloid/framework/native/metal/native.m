// Launches without Python: what it has chosen for a size, lengths and parameters is kept with the pipeline.
#include "objects.h"

enum {
    PARAMETERS = 2048,  // bytes of them; what is longer is data
    MOST = 512,  // plans of a pipeline
    BUCKETS = 256,
    LARGE = 1 << 18,  // bytes of a buffer from which on its alignment may choose the code
    RECORD = 4096,
};

struct plan {
    struct plan *next;
    uint64_t hash;
    size_t size;
    struct mt_ready ready;
    uint8_t key[];
};

struct plans {
    pthread_mutex_t lock;
    uint64_t parameters;  // of this kernel
    size_t count;
    struct plan *buckets[BUCKETS];
};

static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

struct key {
    size_t size;
    uint8_t bytes[49 + 8 * MOST_BUFFERS + 9 * MOST_BUFFERS + PARAMETERS];
};

static const uint64_t *buffers_of(const uint64_t *words) { return words + HEAD + words[7]; }

static void add(struct key *key, const void *bytes, size_t size) {
    memcpy(key->bytes + key->size, bytes, size);
    key->size += size;
}

// Whether a buffer is a parameter, of which the launch gets a copy: what is longer is data.
static BOOL copied(uint64_t parameters, uint64_t index, uint64_t length, size_t *room) {
    if (!(parameters >> index & 1) || !length || length > *room)
        return NO;
    *room -= MIN(*room, (length + 15) & ~15ull);
    return YES;
}

// Whether memory is bound twice: code may rest on that it is not.
static BOOL overlapping(const uint64_t *buffers, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        uint64_t start = buffers[3 * i], end = start + buffers[3 * i + 1];
        for (uint64_t k = 0; k < i && start < end; k++)
            if (buffers[3 * k + 1] && buffers[3 * k] < end && start < buffers[3 * k] + buffers[3 * k + 1])
                return YES;
    }
    return NO;
}

// Sizes, lengths and alignments, whether they overlap, and what the parameters hold; NO where one lies in memory that the kernel has under
// another index as well, or has bytes below it, which a copy would not have.
static BOOL make_key(struct key *key, const uint64_t *words, uint64_t parameters) {
    const uint64_t *buffers = buffers_of(words);
    size_t room = PARAMETERS;
    key->size = 0;
    if (words[9])  // resources that only pointers lead to
        return NO;
    add(key, words + 1, 48);
    add(key, words + HEAD, 8 * words[7]);
    uint8_t shared = overlapping(buffers, words[8]);
    add(key, &shared, 1);
    for (uint64_t i = 0; i < words[8]; i++) {
        uint64_t address = buffers[3 * i], length = buffers[3 * i + 1];
        uint8_t alignment = length >= LARGE ? address & 127 : 0;
        add(key, &length, 8);
        add(key, &alignment, 1);
        if (!copied(parameters, i, length, &room))
            continue;
        if (buffers[3 * i + 2])
            return NO;
        for (uint64_t k = 0; k < words[8]; k++)
            if (!(parameters >> k & 1) && buffers[3 * k] - buffers[3 * k + 2] < address + length && address < buffers[3 * k] + buffers[3 * k + 1])
                return NO;
        add(key, (const void *)address, length);
    }
    return YES;
}

static uint64_t hashed(const struct key *key) {
    uint64_t hash = key->size, word;
    size_t at = 0;
    for (; at + 8 <= key->size; at += 8) {
        memcpy(&word, key->bytes + at, 8);
        hash = (hash ^ word) * 0x9E3779B97F4A7C15ull;
        hash ^= hash >> 29;
    }
    for (; at < key->size; at++)
        hash = (hash ^ key->bytes[at]) * 0x100000001B3ull;
    return hash;
}

static struct plan *found(struct plans *plans, const struct key *key, uint64_t hash) {
    struct plan *plan = plans->buckets[hash % BUCKETS];
    while (plan && (plan->hash != hash || plan->size != key->size || memcmp(plan->key, key->bytes, key->size)))
        plan = plan->next;
    return plan;
}

struct plan *mt_plan_of(struct command *command) {
    struct plans *plans = __atomic_load_n(&command->pipeline->plans, __ATOMIC_ACQUIRE);
    struct key key;
    if (!plans || !make_key(&key, command->words, plans->parameters))
        return 0;
    uint64_t hash = hashed(&key);
    pthread_mutex_lock(&plans->lock);
    struct plan *plan = plans->count < MOST ? found(plans, &key, hash) : 0;
    pthread_mutex_unlock(&plans->lock);
    return plan;
}

// Plans stay until the pipeline goes, so that nobody runs one that is gone. A kernel whose parameters are never the
// same would collect them without end: after MOST it asks Python each time.
void mt_plan_keep(struct command *command, const struct mt_ready *ready) {
    _MTLComputePipelineState *pipeline = command->pipeline;
    pthread_mutex_lock(&making);
    if (!pipeline->plans) {
        struct plans *made = calloc(1, sizeof *made);
        pthread_mutex_init(&made->lock, 0);
        made->parameters = ready->parameters;
        __atomic_store_n(&pipeline->plans, made, __ATOMIC_RELEASE);
    }
    struct plans *plans = pipeline->plans;
    pthread_mutex_unlock(&making);
    struct key key;
    BOOL kept = NO;
    if (ready->size <= RECORD && plans->parameters == ready->parameters && make_key(&key, command->words, plans->parameters)) {
        uint64_t hash = hashed(&key);
        pthread_mutex_lock(&plans->lock);
        if (plans->count < MOST - 1 && !found(plans, &key, hash)) {
            struct plan *made = malloc(sizeof *made + key.size);
            *made = (struct plan){plans->buckets[hash % BUCKETS], hash, key.size, *ready};
            memcpy(made->key, key.bytes, key.size);
            plans->buckets[hash % BUCKETS] = made;
            plans->count++;
            kept = YES;
        }
        pthread_mutex_unlock(&plans->lock);
    }
    if (!kept)
        mt_bridge.release((int64_t)ready->plan);
}

int64_t mt_plan_run(struct plan *plan, struct command *command, char *error) {
    const struct mt_ready *ready = &plan->ready;
    const uint64_t *words = command->words, *buffers = buffers_of(words);
    _Alignas(64) char record[RECORD];
    _Alignas(16) char parameters[PARAMETERS + 16 * MOST_BUFFERS];
    size_t used = 0, room = PARAMETERS;
    memcpy(record, (const void *)ready->record, ready->size);
    for (uint64_t i = 0; i < words[8]; i++) {
        uint64_t address = buffers[3 * i], length = buffers[3 * i + 1];
        if (copied(ready->parameters, i, length, &room)) {  // nobody changes what the code was chosen for
            memcpy(parameters + used, (const void *)address, length);
            address = (uint64_t)(parameters + used);
            used += (length + 15) & ~15ull;
        }
        memcpy(record + 8 * i, &address, 8);
        memcpy(record + ready->lengths + 8 * i, &length, 8);
        memcpy(record + ready->below + 8 * i, &buffers[3 * i + 2], 8);
    }
    int32_t (*run)(void *, uint32_t, int64_t, uint32_t) = (int32_t(*)(void *, uint32_t, int64_t, uint32_t))ready->run;
    int64_t status = run(record, (uint32_t)ready->threads, 0, 0);
    uint64_t logged;
    memcpy(&logged, record + ready->logs, 8);
    return status || logged ? mt_bridge.finish((int64_t)ready->plan, record, words, status, error) : 0;
}

void mt_plans_free(struct plans *plans) {
    for (size_t i = 0; plans && i < BUCKETS; i++)
        while (plans->buckets[i]) {
            struct plan *gone = plans->buckets[i];
            plans->buckets[i] = gone->next;
            mt_bridge.release((int64_t)gone->ready.plan);
            free(gone);
        }
    if (plans)
        pthread_mutex_destroy(&plans->lock);
    free(plans);
}
