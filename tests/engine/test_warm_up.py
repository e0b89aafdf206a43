"""What is begun in the background before a kernel is compiled does not get in the way of the front end."""

from __future__ import annotations

import subprocess
import sys

# Packages that import their own parts and that the passes need, where a start has not loaded them yet.
OPEN = """
import re, sys
from pathlib import Path
from metalloid import background
from metalloid.backends.cpu.device import BACKEND
background.begin = lambda what, work: None
BACKEND.warm_up()
before = set(sys.modules)
import metalloid.backends.cpu.pipeline
for name in sorted(set(sys.modules) - before):
    module = sys.modules[name]
    if name.startswith("metalloid.") and hasattr(module, "__path__"):
        if re.search(rf"^from {re.escape(name)}[. ]", Path(module.__file__).read_text(), re.MULTILINE):
            print(name)
print(len(set(sys.modules) - before) > 100)
"""


def test_no_package_is_imported_by_two_threads_while_it_imports_its_parts() -> None:
    """One thread holds the package and waits for the part, the other holds the part and waits for the package. Python
    notices, and one of the two imports fails: the launch, now and then, of the first kernel of a process."""
    done = subprocess.run([sys.executable, "-c", OPEN], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"]
