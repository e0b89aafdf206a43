"""Oracle against engine on programs nobody wrote: part 3 of six."""

from tests.engine.fuzz.part import part

test_programs = part(3)
