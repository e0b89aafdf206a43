"""Log lines read as printf would write them."""

import pytest

from metalloid.backends.printf import formatted


@pytest.mark.parametrize(
    ("format", "arguments", "text"),
    [
        ("x = %d", (-3,), "x = -3"),
        ("%u %x %lu", (-1, -1, -1), "4294967295 ffffffff 18446744073709551615"),
        ("%5.2f|%-6d|%06x|", (3.14159, 42, 255), " 3.14|42    |0000ff|"),
        ("100%% of %i", (7,), "100% of 7"),
        ("%v2f end", (1.0, 2.0), "1.000000,2.000000 end"),
        ("%c%c", (72, 105), "Hi"),
        ("%d and %d", (1,), "1 and (missing)"),
        ("left over", (1, 2.5), "left over 1 2.5"),
    ],
)
def test_a_format_and_its_arguments(format, arguments, text):
    assert formatted(format, arguments) == text
