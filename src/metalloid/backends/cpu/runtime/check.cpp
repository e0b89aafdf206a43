// Shadow memory of a checked launch, and what was found in it.
//
// A word stands for one access:  serial | site | agreed | thread.  The serial grows with every threadgroup and every barrier, so
// nothing is ever cleared: whatever is older than `group` belongs to another threadgroup, whatever is older than `from` is
// put in order by a barrier. Vector code tests and writes words itself (backends/cpu/lower/shadow/events.py); what it cannot call fine comes
// here, lane by lane.
#include "launch.h"

enum Kind : u32 {  // the order of KINDS in cpu/checked/program.py
    READ_OUTSIDE, WRITE_OUTSIDE, MISALIGNED, LOCAL_UNDEFINED, DEVICE_UNDEFINED, RACE_LOCAL, RACE_DEVICE, RACE_ACROSS,
    FLAGS, LOCKSTEP, INACTIVE, LEFT_ARRAY, NO_KIND
};

enum RootKind : u32 { BUFFER, LOCAL_ARGUMENT, LOCAL_VARIABLE, CONSTANT, PRIVATE, UNKNOWN_DEVICE, UNKNOWN_LOCAL };

// What to do at a site.
enum : u32 { WRITE = 1, ATOMIC = 2, WRITER = 4, DEFINED = 8, READERS = 16, READS = 32, RACES = 64 };

struct Shadow {
    void *writer, *first, *other;  // words; `first` and `other` readers may be missing
    u64 start, length;             // bytes of the memory itself
    u64 window, in_window;         // from this offset on so many bytes have words; all, where it is not divided
    u32 shift, undefined;          // log2 of the granule; whether reading before writing is a mistake
};

struct CheckSite {
    u32 what, size, align, root_kind;
    u32 root, index, local, bias;  // the shadow; of a buffer or argument; the number among threadgroup memories;
                                   // how far from a multiple of 16 the memory starts
    u64 start, length;            // of a threadgroup variable; of variables, tables, private arrays
};

struct CheckRecord {
    u32 kind, site, other_site, thread, other_thread, x, y, z;
    u64 other_serial, count;
    i64 offset;
};

struct GroupRecord {
    u64 serial, fenced;  // its first serial; the serial of its last device-wide fence
    u32 x, y, z, pad;
};

constexpr u32 MOST_RECORDS = 1024, LOCAL = 32, SHADOWS = 96, LOCALS = 64, AGREED = 1 << 16, PROBES = 64;

// Threads of one threadgroup that have stored what the writer of a word had stored. The writer stands for all of them; the
// latest of its SIMD-group and of another one are kept as well, so that whoever comes next meets one of them.
struct Agreement {
    const void *word;
    u64 value, group;   // the word; the threadgroup whose threads these are
    u64 near, far;      // words
    u32 threads[32];
};

struct Check {
    u64 now, group;          // shifted: serial of this moment, first of this threadgroup
    u64 start;               // shifted: first of this launch; older words count as nothing
    u64 from[2];             // shifted, for device and threadgroup memory: older words are in order
    u64 simd_from[2][32];    // the same for words of the own SIMD-group
    u64 missing[LOCALS];     // granules of a threadgroup variable that nobody has written yet
    Shadow shadows[SHADOWS];
    unsigned char *muted;    // by site: 1 has told enough, 2 and nobody asks for its words (`hush`)
    u64 *counts;             // by site: how often it ran, in lanes
    unsigned char touched[SHADOWS];  // buffers that were read
    // From here on only the runtime looks.
    const CheckSite *sites;
    u64 exec_from, simd_exec_from[32];  // since the last barrier of any flags
    u64 serial, last_serial;
    u32 thread_bits, site_bits, site_count, wide, continue_after_fault, local_count, shadow_count, fences;
    u64 local_sizes[LOCALS];  // granules
    GroupRecord *groups;
    u64 group_count;
    CheckRecord records[MOST_RECORDS];
    u64 record_count, reports;
    u32 *events;              // by site: slow events since the last time it was heard again
    Agreement *agreed;        // AGREED of them; those of earlier threadgroups are free
    u64 agreements;           // that were made: with none the table is as it was
    // Shifted, for device and threadgroup memory, by thread: its last fence; the same before the latest barrier that somebody
    // made a fence behind (`released_at`); the last barrier that it made one behind itself.
    u64 released_at[2], fenced[2][1024], released[2][1024], acquired[2][1024];
};

constexpr i32 REDO_CAREFUL = 5, REDO_WIDE = 6;
constexpr u32 PATIENCE = 16;  // events of one site that tell nothing new before it is muted
enum : unsigned char { HEARD, MUTED, HUSHED };

namespace {

u64 shift_of(const Check &c) { return c.thread_bits + 1 + c.site_bits; }

u32 thread_of(const Check &c, u64 word) { return u32(word & ((1u << c.thread_bits) - 1)); }

u32 site_of(const Check &c, u64 word) { return u32(word >> (c.thread_bits + 1) & ((1u << c.site_bits) - 1)); }

u64 agreed_bit(const Check &c) { return u64(1) << c.thread_bits; }

u64 word_at(const Check &c, const void *words, u64 n) {
    return c.wide ? static_cast<const u64 *>(words)[n] : static_cast<const u32 *>(words)[n];
}

void set_word(const Check &c, void *words, u64 n, u64 value) {
    if (c.wide) static_cast<u64 *>(words)[n] = value;
    else static_cast<u32 *>(words)[n] = u32(value);
}

const void *address_of_word(const Check &c, const void *words, u64 n) {
    return static_cast<const char *>(words) + n * (c.wide ? 8 : 4);
}

void record(Check &c, u32 kind, u32 site, u32 thread, const GroupRecord &g, i64 offset, u32 other_site, u32 other_thread,
            u64 other_serial) {
    c.reports++;
    u32 at = (kind * 7919 + site * 104729 + other_site * 1299709) % MOST_RECORDS;
    for (u32 n = 0; n < MOST_RECORDS; n++, at = (at + 1) % MOST_RECORDS) {
        CheckRecord &r = c.records[at];
        if (!r.count) {
            r = CheckRecord{kind, site, other_site, thread, other_thread, g.x, g.y, g.z, other_serial, 1, offset};
            c.record_count++;
            return;
        }
        if (r.kind == kind && r.site == site && r.other_site == other_site) {
            r.count++;
            return;
        }
    }
}

const GroupRecord &group_of(const Check &c, u64 serial) {
    u64 low = 0, high = c.group_count;
    while (low < high) {
        u64 middle = (low + high) / 2;
        if (c.groups[middle].serial <= serial) low = middle + 1;
        else high = middle;
    }
    return c.groups[low ? low - 1 : 0];
}

struct Lane {
    u32 thread, site;
    bool atomic;
    u32 memory;  // 0 device, 1 threadgroup
};

// Whether the thread of an older access made a fence, then came a barrier, and this one made a fence behind it.
bool fenced(const Check &c, u64 word, const Lane &me) {
    if (word < c.group) return false;
    return word < c.released[me.memory][thread_of(c, word)] && word < c.acquired[me.memory][me.thread];
}

// What is between an older access and this one; NO_KIND where they are in order.
u32 relation(const Check &c, u64 word, const Lane &me) {
    if (word < c.start) return NO_KIND;
    u32 thread = thread_of(c, word), site = site_of(c, word);
    u64 serial = word >> shift_of(c);
    bool atomic = c.sites[site].what & ATOMIC;
    if (atomic && me.atomic) return NO_KIND;
    if (word < c.group) {
        if (me.memory) return NO_KIND;
        bool released = c.fences && c.groups[c.group_count - 1].fenced && group_of(c, serial).fenced > serial;
        return released ? NO_KIND : RACE_ACROSS;
    }
    if (thread == me.thread || word < c.from[me.memory]) return NO_KIND;
    if (fenced(c, word, me)) return NO_KIND;
    u32 plain = me.memory ? RACE_LOCAL : RACE_DEVICE;
    u32 simd = me.thread >> 5;
    if (thread >> 5 != simd) return word >= c.exec_from ? plain : FLAGS;
    if (word < c.simd_from[me.memory][simd]) return NO_KIND;
    if (word < c.exec_from || word < c.simd_exec_from[simd]) return FLAGS;
    return site == me.site ? plain : LOCKSTEP;
}

// The entry of a word in this threadgroup; null where there is none, or, to make one, no room.
Agreement *agreement(const Check &c, const void *at, u64 value, bool make) {
    u64 start = (u64(at) >> 2) * 2654435761u;
    for (u64 n = 0; n < PROBES; n++) {
        Agreement &a = c.agreed[(start + n) % AGREED];
        bool free = a.group != c.group;
        if (!free && a.word == at) {
            if (a.value == value) return &a;
            free = make;  // of a word that is not there any more
        }
        if (!free) continue;
        if (!make) return nullptr;
        a.word = at, a.value = value, a.group = c.group, a.near = a.far = 0;
        for (u32 &t : a.threads) t = 0;
        return &a;
    }
    return nullptr;
}

// A thread has stored what was there. Returns the word with the bit that says so.
u64 agree(Check &c, const void *at, u64 value, u64 entry) {
    u64 known = value | agreed_bit(c);
    Agreement *a = agreement(c, at, known, true);
    if (!a) return value;
    c.agreements++;
    u32 mine = thread_of(c, entry), first = thread_of(c, value);
    if (value >= c.group) a->threads[first >> 5] |= 1u << (first & 31);
    if (value < c.group || mine != first) (value >= c.group && mine >> 5 == first >> 5 ? a->near : a->far) = entry;
    a->threads[mine >> 5] |= 1u << (mine & 31);
    return known;
}

// An atomic change after one of another thread: the word that is left is this thread's, and its plain reads still meet the others.
u64 beside(Check &c, const void *at, u64 word, const Agreement *before, u64 entry) {
    if (word < c.start || !(c.sites[site_of(c, word)].what & ATOMIC)) return entry;
    u64 far = before ? before->far : 0, near = before ? before->near : 0, last = word & ~agreed_bit(c);
    if (word < c.group) far = last;
    else if (thread_of(c, word) != thread_of(c, entry)) near = last;
    if (near && thread_of(c, near) == thread_of(c, entry)) near = 0;
    if (!far && !near) return entry;
    u64 known = entry | agreed_bit(c);
    Agreement *a = agreement(c, at, known, true);
    if (!a) return entry;
    c.agreements++;
    a->far = far, a->near = near;
    return known;
}

bool same_bytes(const char *a, const char *b, u32 size) {
    for (u32 n = 0; n < size; n++)
        if (a[n] != b[n]) return false;
    return true;
}

// One event that vector code could not call fine.
struct Slow {
    const Launch &l;
    Check &c;
    const CheckSite &s;
    u32 site, first;
    const i64 *offsets;
    const u64 *mask;
    const char *base, *values;
    const GroupRecord &g;

    bool active(u32 lane) const { return mask[lane >> 6] >> (lane & 63) & 1; }

    void report(u32 kind, u32 thread, i64 offset, u64 word) const {
        u32 other = ~0u, other_thread = 0;
        u64 serial = 0;
        if (word) {
            other_thread = thread_of(c, word), other = site_of(c, word);
            serial = word >> shift_of(c);
        }
        record(c, kind, site, thread, g, offset, other, other_thread, serial);
    }

    u64 length() const {
        switch (s.root_kind) {
        case BUFFER: return l.lengths[s.index];
        case LOCAL_ARGUMENT: return l.local_lengths[s.index];
        case UNKNOWN_LOCAL: return l.local_total;
        default: return s.length;
        }
    }

    // The shadow of an access and the offset in it; `shadow` is null for memory that has none. False: outside.
    bool locate(i64 &offset, const Shadow *&shadow) const {
        shadow = nullptr;
        if (s.root_kind == UNKNOWN_DEVICE) {
            for (u32 n = 0; n < c.shadow_count; n++) {
                const Shadow &one = c.shadows[n];
                u64 at = u64(offset) - one.start;
                if (n == LOCAL || at >= one.length || s.size > one.length - at) continue;
                shadow = &one, offset = i64(at);
                return true;
            }
            for (u64 n = 0; n < l.range_count; n++) {  // a constant table
                u64 at = u64(offset) - l.ranges[n].start;
                if (at < l.ranges[n].length && s.size <= l.ranges[n].length - at) return true;
            }
            return false;
        }
        u64 size = length();
        if (size < s.size || u64(offset) > size - s.size) return false;
        if (s.root_kind == CONSTANT || s.root_kind == PRIVATE) return true;
        shadow = &c.shadows[s.root];
        if (s.root_kind == LOCAL_ARGUMENT) offset += i64(l.local_offsets[s.index]);
        else if (s.root_kind == LOCAL_VARIABLE) offset += i64(s.start);
        return true;
    }

    // Whether a store puts there what the writer of `word` has put there.
    bool unchanged(u32 lane, u64 word) const {
        if (!values) return false;
        const char *own = values + u64(lane) * s.size;
        u32 thread = thread_of(c, word), other = site_of(c, word);
        u32 there = thread - first;
        if (other == site && word >= c.now && there != lane && there < 256 && active(there) && offsets[there] == offsets[lane])
            return same_bytes(own, values + u64(there) * s.size, s.size);
        return same_bytes(own, base + offsets[lane], s.size);
    }

    // Those that this access collides with: the last write, and writes that agreed with it; one for each kind of race.
    struct Met {
        u64 words[3];
        u32 kinds[3], count;
    };

    Met meets(const Agreement *agreed, u64 word, const Lane &me) const {
        Met met{{}, {}, 0};
        u64 words[3] = {word, agreed ? agreed->far : 0, agreed ? agreed->near : 0};
        for (u64 one : words) {
            u32 kind = one ? relation(c, one, me) : u32(NO_KIND);
            for (u32 n = 0; n < met.count; n++)
                if (met.kinds[n] == kind) kind = NO_KIND;
            if (kind != NO_KIND) met.words[met.count] = one, met.kinds[met.count++] = kind;
        }
        return met;
    }

    void tell(const Met &met, u32 thread, i64 offset) const {
        for (u32 n = 0; n < met.count; n++) report(met.kinds[n], thread, offset, met.words[n]);
    }

    // Reads since the last write that nothing puts in order with this one. Where it agrees with the last write, that write's own
    // thread may read what it has stored, and other threadgroups have met the write that they read.
    void meet_readers(const Shadow &shadow, u64 n, const Lane &me, i64 offset, u64 agreed_with) const {
        const void *readers[2] = {shadow.first, shadow.other};
        for (const void *words : readers) {
            u64 reader = word_at(c, words, n);
            u32 kind = relation(c, reader, me);
            bool own = agreed_with >= c.group && thread_of(c, reader) == thread_of(c, agreed_with);
            if (agreed_with && (own || reader < c.group)) continue;
            if (kind != NO_KIND) report(kind, me.thread, offset, reader);
        }
    }

    void granule(const Shadow &shadow, u64 n, u32 lane, i64 offset, u32 memory) const {
        Lane me{first + lane, site, bool(s.what & ATOMIC), memory};
        u64 entry = c.now | u64(site) << (c.thread_bits + 1) | me.thread, word = word_at(c, shadow.writer, n);
        const void *at = address_of_word(c, shadow.writer, n);
        if (s.what & DEFINED && (memory ? word < c.group : word < c.start && shadow.undefined))
            report(memory ? LOCAL_UNDEFINED : DEVICE_UNDEFINED, me.thread, offset, 0);
        const Agreement *agreed = word & agreed_bit(c) ? agreement(c, at, word, false) : nullptr;
        bool beside_others = agreed && s.what & WRITE && c.sites[site_of(c, word)].what & ATOMIC;
        Met met = s.what & WRITER ? meets(beside_others ? nullptr : agreed, word, me) : Met{{}, {}, 0};
        bool followed = s.what & READERS && shadow.first;
        if (!(s.what & WRITE)) {
            bool member = agreed && agreed->threads[me.thread >> 5] >> (me.thread & 31) & 1;
            if (member && met.count) return;  // it has stored the value as well
            tell(met, me.thread, offset);
            if (followed) read(shadow, n, me, entry);
            return;
        }
        bool plain = !(s.what & ATOMIC) && !(c.sites[site_of(c, word)].what & ATOMIC);
        if (met.count && plain && unchanged(lane, met.words[0])) {
            if (followed) meet_readers(shadow, n, me, offset, word);
            set_word(c, shadow.writer, n, agree(c, at, word & ~agreed_bit(c), entry));
            return;
        }
        tell(met, me.thread, offset);
        if (followed) {
            meet_readers(shadow, n, me, offset, 0);
            set_word(c, shadow.first, n, 0), set_word(c, shadow.other, n, 0);
        }
        if (memory && word < c.group && s.local < LOCALS && c.missing[s.local]) c.missing[s.local]--;
        // An atomic change does not hide a plain one that others have yet to meet.
        bool fresh = word >= c.group && word >= c.from[memory] && !fenced(c, word, me);
        if (s.what & ATOMIC && fresh && !(c.sites[site_of(c, word)].what & ATOMIC)) return;
        set_word(c, shadow.writer, n, s.what & ATOMIC && followed ? beside(c, at, word, agreed, entry) : entry);
    }

    void read(const Shadow &shadow, u64 n, const Lane &me, u64 entry) const {
        u64 reader = word_at(c, shadow.first, n);
        u32 thread = thread_of(c, reader);
        bool own = reader >= c.group, fresh = own ? reader >= c.from[me.memory] : reader >= c.start && !me.memory;
        if (!fresh || fenced(c, reader, me)) set_word(c, shadow.first, n, entry);
        else if (!own || thread != me.thread) set_word(c, shadow.other, n, entry);
    }

    // Returns whether a lane was outside.
    bool run(u32 lanes) const {
        bool outside = false;
        for (u32 lane = 0; lane < lanes; lane++) {
            if (!active(lane)) continue;
            i64 offset = offsets[lane];
            const Shadow *shadow;
            if (!locate(offset, shadow)) {
                outside = true;
                if (c.continue_after_fault) report(s.what & WRITE ? WRITE_OUTSIDE : READ_OUTSIDE, first + lane, offsets[lane], 0);
                continue;
            }
            if (s.what & READS && shadow) c.touched[shadow - c.shadows] = 1;
            if (s.align && (offsets[lane] + s.bias) & (s.align - 1)) report(MISALIGNED, first + lane, offsets[lane], 0);
            if (!shadow || !shadow->writer || !(s.what & RACES)) continue;
            u32 memory = shadow == &c.shadows[LOCAL];
            u64 last = u64(offset + s.size - 1) >> shadow->shift;
            for (u64 n = u64(offset) >> shadow->shift; n <= last; n++)
                if ((n << shadow->shift) - shadow->window < shadow->in_window) granule(*shadow, n, lane, offsets[lane], memory);
        }
        return outside;
    }
};

// Whether the words of a site count for one threadgroup only.
bool is_local(const CheckSite &s) {
    return s.what & RACES && (s.root_kind == LOCAL_ARGUMENT || s.root_kind == LOCAL_VARIABLE || s.root_kind == UNKNOWN_LOCAL);
}

// A site has been muted. Words of reads are looked at by some writes, words of writes by all that may come to the same memory: where
// none of those can tell anything until it is heard again, muted sites of that memory need no words until then. Sites with ATOMIC
// or `align` may tell though they are muted, and so may all sites behind a fault.
void hush(Check &c, const CheckSite &told) {
    if (c.continue_after_fault || !is_local(told)) return;
    bool writes = true, all = true;  // whether they are silent: those that look at reads, all
    for (u32 n = 0; n < c.site_count; n++) {
        const CheckSite &s = c.sites[n];
        bool meets = is_local(s) && (s.local == told.local || s.local == LOCALS || told.local == LOCALS);
        if (!meets || (c.muted[n] && !(s.what & ATOMIC) && !s.align)) continue;
        all = false;
        if (s.what & WRITE && s.what & READERS) writes = false;
    }
    for (u32 n = 0; n < c.site_count && writes; n++) {
        const CheckSite &s = c.sites[n];
        bool here = is_local(s) && (s.local == told.local || told.local == LOCALS);
        if (here && c.muted[n] && (all || !(s.what & WRITE))) c.muted[n] = HUSHED;
    }
}

void step(Launch *l, Check &c) {
    if (++c.serial >= c.last_serial && !l->cancel) l->cancel = REDO_WIDE;
    c.now = c.serial << shift_of(c);
}

}  // namespace

extern "C" {

// At the start of a threadgroup.
void mt_check_group(Launch *l, u32 x, u32 y, u32 z) {
    Check &c = *static_cast<Check *>(l->check);
    step(l, c);
    c.group = c.from[0] = c.from[1] = c.exec_from = c.now;
    c.groups[c.group_count++] = GroupRecord{c.serial, 0, x, y, z, 0};
    for (u32 n = 0; n < c.local_count; n++) c.missing[n] = c.local_sizes[n];
    u64 n = c.group_count;
    if ((n & (n - 1)) == 0 || n == l->total) {  // sites that were muted are heard again, ever more rarely
        for (u32 s = 0; s < c.site_count; s++) c.muted[s] = HEARD, c.events[s] = 0;
    }
}

void mt_check_barrier(Launch *l, u32 flags) {
    Check &c = *static_cast<Check *>(l->check);
    step(l, c);
    c.exec_from = c.now;
    for (u32 m = 0; m < 2; m++)
        if (flags >> m & 1) c.from[m] = c.now;
}

void mt_check_simd_barrier(Launch *l, u32 flags, u32 thread) {
    Check &c = *static_cast<Check *>(l->check);
    step(l, c);
    u32 simd = thread >> 5 & 31;
    c.simd_exec_from[simd] = c.now;
    for (u32 m = 0; m < 2; m++)
        if (flags >> m & 1) c.simd_from[m][simd] = c.now;
}

// Some lanes make a fence. Of one of the whole device what came before may be seen by threadgroups that make one as well.
void mt_check_fence(Launch *l, u32 flags, u32 device_wide, u32 first, u32 lanes, const u64 *mask) {
    Check &c = *static_cast<Check *>(l->check);
    step(l, c);
    if (device_wide && flags & 1) {
        c.fences = 1;
        c.groups[c.group_count - 1].fenced = c.serial;
    }
    for (u32 m = 0; m < 2; m++) {
        if (!(flags >> m & 1)) continue;
        if (c.released_at[m] != c.exec_from) {  // the first behind this barrier
            c.released_at[m] = c.exec_from;
            for (u32 n = 0; n < 1024; n++) c.released[m][n] = c.fenced[m][n];
        }
        for (u32 lane = 0; lane < lanes; lane++) {
            if (!(mask[lane >> 6] >> (lane & 63) & 1)) continue;
            c.fenced[m][first + lane] = c.now;
            c.acquired[m][first + lane] = c.exec_from;
        }
    }
}

// An event that is not plainly fine. Returns 1 where the launch has to be run again, with care.
i32 mt_check_lanes(Launch *l, u32 site, u32 first, u32 lanes, const i64 *offsets, const u64 *mask, const char *base,
                   const char *values) {
    Check &c = *static_cast<Check *>(l->check);
    Slow slow{*l, c, c.sites[site], site, first, offsets, mask, base, values, c.groups[c.group_count - 1]};
    u64 known = c.record_count, before = c.reports;
    bool outside = slow.run(lanes);
    if (outside && !c.continue_after_fault) {
        if (!l->cancel) l->cancel = REDO_CAREFUL;
        return 1;
    }
    if (c.record_count != known) c.events[site] = 0;
    else if (c.reports != before && ++c.events[site] >= PATIENCE && !c.muted[site]) {
        c.muted[site] = MUTED;
        hush(c, c.sites[site]);
    }
    return 0;
}

// SIMD-group operations whose lanes read lanes that do not take part.
void mt_check_inactive(Launch *l, u32 site, u32 thread, u32 read) {
    Check &c = *static_cast<Check *>(l->check);
    record(c, INACTIVE, site, thread, c.groups[c.group_count - 1], read, ~0u, 0, 0);
}

// An index that has left a dimension of an array.
void mt_check_left(Launch *l, u32 site, u32 thread, i64 index) {
    Check &c = *static_cast<Check *>(l->check);
    record(c, LEFT_ARRAY, site, thread, c.groups[c.group_count - 1], index, ~0u, 0, 0);
}

u64 mt_sizeof_check() { return sizeof(Check); }
}
