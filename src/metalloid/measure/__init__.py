"""How fast a kernel is, and how fast it could be on this machine."""

from metalloid.measure.chips import CHIPS, Chip
from metalloid.measure.kernel import Measurement, measure
from metalloid.measure.machine import Machine, this_machine
from metalloid.measure.timing import Timing, timed
from metalloid.measure.tune import Trial, tune

__all__ = [
    "CHIPS",
    "Chip",
    "Machine",
    "Measurement",
    "Timing",
    "Trial",
    "measure",
    "this_machine",
    "timed",
    "tune",
]
