"""What generated code and the native runtime agree on: where things lie in a launch.

The C++ side is backends/runtime/launch.h; a test compares the two.
"""

from __future__ import annotations

BUFFERS = 0  # 32 pointers
LENGTHS = 256  # 32 x u64, bytes
LOCAL_OFFSETS = 512  # 32 x u64: host-sized threadgroup memory, from the start of threadgroup memory
LOCAL_LENGTHS = 768  # 32 x u64
GRID = 1024  # 3 x u32, threads
THREADGROUP = 1036  # 3 x u32
GROUPS = 1048  # 3 x u32
RANGE_COUNT = 1064  # u64: how many address ranges may be touched
RANGES = 1072  # pointer to pairs (start, length), sorted
CANCEL = 1080  # i32, polled
ZERO = 1084  # i32, always 0, which LLVM cannot know
LOCAL_TOTAL = 1088  # u64: bytes of threadgroup memory in all
CHECK = 1096  # pointer to the Check of a checked launch
BELOW = 1104  # 32 x u64: bytes of its allocation that lie before a buffer
LATEST = BELOW + 256  # 3 x u32: where a threadgroup begins at most, in threads
END = LATEST + 16

SLOTS = 32
LOCAL_START = 64  # no variable lies at offset 0, so none looks like a null pointer
FAULT = "mt_fault"  # is told of what stops a launch
NOTE = "mt_note"  # of what does not
OUTSIDE = "mt_outside"
LANES = "lanes."  # begins the names of tables of lanes: constants, of which each half of a module has its own
LOG = "mt_log"
CONSTANTS = "mt_constants"  # in the module of a kernel that looks for buffers: (start, length) of its tables

# In a Check (runtime/check.cpp); words of the shadow are serial | site | thread.
NOW, GROUP, START = 0, 8, 16  # u64, shifted
FROM = 24  # 2 x u64: device, threadgroup
SIMD_FROM = 40  # 2 x 32 x u64
MISSING = 552  # 64 x u64
SHADOW_PLACES = 1064  # 96 x Shadow
SHADOW_SIZE = (
    64  # writer, first, other: pointers; start, length, window, in_window: u64; shift, undefined: u32
)
MUTED = 7208  # pointer to u8, by site
COUNTS = 7216  # pointer to u64, by site
TOUCHED = 7224  # 96 x u8, by shadow
SHADOW_ROOM = 1024  # words on both sides of a shadow that vector code may read and write back
LOCAL_SHADOW = 32  # the number of threadgroup memory's
LOCALS = 64
