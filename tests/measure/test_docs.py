"""The example of docs/measuring.md runs."""

import re
import subprocess
import sys
from pathlib import Path


def test_the_example_runs() -> None:
    text = (Path(__file__).parents[2] / "docs" / "measuring.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, stdout=subprocess.DEVNULL)
