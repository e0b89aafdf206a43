"""Names of the C++ side: what the headers and the text that `entry` adds declare for the front end alone.

None of them is left in a kernel's IR; those that are stand in `ir/intrinsics`.
"""

from __future__ import annotations

SIGNATURE = "__mt_signature"  # a variable whose type lists the kernel's parameters
LIMIT = "__mt_limit"  # one whose type carries the most threads of a threadgroup
THREADS = "__mt_threads"  # a template that holds that limit, where the kernel is a template
POINTER = "__mt_pointer"  # the type of a pointer to the kernel, where several templates have its name
EXCESS = "__mt_excess_elements"  # called where braces hold too much; include/metalloid/listed.h
