"""What a worker can do: plain data in, plain data out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from metalloid.studio.jobs.diagnose import diagnose
from metalloid.studio.jobs.launch import launch
from metalloid.studio.jobs.measure import measured
from metalloid.studio.jobs.stage import stage

JOBS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "diagnose": diagnose,
    "launch": launch,
    "stage": stage,
    "measure": measured,
}
