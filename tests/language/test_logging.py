"""os_log and printf reach the host, in words."""

import numpy as np

from metalloid.backends.base import LogMessage
from tests.language.launch import run

BODY = """
#include <metal_logging>
constant os_log custom("com.example", "kernels");
kernel void k(device int* o, device const float* a, uint i [[thread_position_in_grid]]) {
  if (i % 2 == 0) os_log_default.log("thread %u of %d: %f", i, 5, a[i]);
  if (i == 1) {
    os_log_default.log_debug("debug %x %5.2f %%", 255u, 1.0h);
    custom.log_info("info %d %ld %lu", -7, long(o[0]) - 5000000000l, ulong(18446744073709551615ul));
    custom.log_error("error %s", "text");
    metal::os_log_default.log_fault("fault %c%c %i", 'o', 'k', short(-3));
    custom.log_with_type(log_type_error, "%g|%e|%08.3f|%-4d|%+d|", 0.5, 1500.0, a[1], 7, 8);
  }
  if (i == 3) printf("printf %d\\n", bool(i));
  o[i] = i;
}
"""


def test_messages_arrive_with_level_thread_and_text() -> None:
    got: list[LogMessage] = []
    a = np.array([1.5, 2.25, -3, 4, 0], np.float32)
    out = np.zeros(5, np.int32)
    body = BODY.replace('    custom.log_error("error %s", "text");\n', "")
    built = run(body, out, a, grid=5, threadgroup=5, on_log=got.append)
    texts = {(m.thread[0], m.level, m.text) for m in got}
    assert texts == {
        (0, 0, "thread 0 of 5: 1.500000"),
        (2, 0, "thread 2 of 5: -3.000000"),
        (4, 0, "thread 4 of 5: 0.000000"),
        (1, 1, "debug ff  1.00 %"),
        (1, 2, "info -7 -5000000000 18446744073709551615"),
        (1, 4, "fault ok -3"),
        (1, 3, "0.5|1.500000e+03|0002.250|7   |+8|"),
        (3, 0, "printf 1\n"),
    }
    assert "thread %u of %d: %f" in built.signature.logs and len(built.signature.logs) == 6
    np.testing.assert_array_equal(out, np.arange(5))


def test_without_a_listener_nothing_happens() -> None:
    out = np.zeros(5, np.int32)
    run(BODY.replace("%s", "%d").replace('"text"', "4"), out, np.zeros(5, np.float32), grid=5, threadgroup=5)
    np.testing.assert_array_equal(out, np.arange(5))


def test_vectors_are_logged_by_component() -> None:
    got: list[LogMessage] = []
    body = """kernel void k(device float4* o) {
  float3 v(1, 2, 3);
  os_log_default.log("%f %f %f", v.x, v.y, v.z);
  os_log_default.log("%v4f and %v2d", o[0], int2(3, -4));
}"""
    run(body, np.array([1, 2, 3, 4], np.float32), on_log=got.append)
    assert [m.text for m in got] == [
        "1.000000 2.000000 3.000000",
        "1.000000,2.000000,3.000000,4.000000 and 3,-4",
    ]
