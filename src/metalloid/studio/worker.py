"""A worker: reads jobs from standard input, one JSON object a line, and answers each with a line.

What a job prints goes to standard error; what it raises is a sentence.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

from metalloid.errors import MetalloidError
from metalloid.studio import limits

Job = Callable[[dict[str, Any]], dict[str, Any]]


def main() -> None:
    limits.confine()
    from metalloid.studio.jobs import JOBS  # before the first job: whoever opens the page is still reading

    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    warnings.simplefilter("ignore")  # what is worth saying is a finding
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        answers.write(json.dumps(_answer(JOBS[asked["kind"]], asked["data"])).encode() + b"\n")


def _answer(job: Job, data: dict[str, Any]) -> dict[str, Any]:
    try:
        return job(data)
    except MetalloidError as error:
        return {"error": str(error)}
    except MemoryError:
        return {"error": f"this needs more memory than the studio gives ({limits.MEMORY >> 30} GiB)"}
    except RecursionError:
        return {"error": "this text is nested too deeply"}
    except Exception as error:
        return {"error": f"metalloid failed: {type(error).__name__}: {error}"}


if __name__ == "__main__":
    main()
