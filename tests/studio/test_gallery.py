"""Every lesson shows the mistake it is about, and its mended kernel shows none."""

from __future__ import annotations

import pytest

from metalloid.studio.gallery import LAUNCHES, lesson, lessons
from metalloid.studio.jobs import JOBS


@pytest.mark.parametrize("number", LAUNCHES)
def test_a_lesson_breaks_its_rule_and_the_mended_kernel_does_not(
    number: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("METALLOID_CHECK_ENGINE", "oracle")  # a launch may set it, and it is put back
    found = lesson(number)
    assert found is not None
    data = found.data()
    broken = JOBS["launch"]({"text": data["text"], **data["form"]})
    assert number in [f["rule"] for f in broken["findings"]], broken
    mended = JOBS["launch"]({"text": data["mended"], **data["mended_form"]})
    assert [f["rule"] for f in mended["findings"] if f["severity"] != "note" or f["rule"] == number] == []


def test_lessons_are_explained() -> None:
    assert [one["rule"] for one in lessons()] == list(LAUNCHES)
    for one in lessons():
        found = lesson(one["rule"])
        assert found is not None and len(one["first"]) > 40 and found.text != found.mended
        assert "Why it happens" in found.page
    assert lesson("M999") is None
