"""A sweep runs wherever an executor takes it, and gives the same outcomes there."""

from __future__ import annotations

import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import pytest

import metalloid as mt
from tests.comparing import mistakes

CASES = mt.cases({"x": "N"}, tiles=4, largest=1 << 10)
BY_NAME = "tests.comparing.mistakes:fours_without_a_tail", "tests.comparing.mistakes:doubled"


def kinds(result: mt.Comparison) -> list[tuple[str, str]]:
    return [(str(o.case), o.kind) for o in result.outcomes]


@pytest.fixture(scope="module")
def here() -> mt.Comparison:
    return mt.compare(mistakes.fours_without_a_tail, mistakes.doubled, CASES)


def test_threads(here):
    with ThreadPoolExecutor(2) as executor:
        there = mt.compare(mistakes.fours_without_a_tail, mistakes.doubled, CASES, executor=executor)
    assert kinds(there) == kinds(here) and len(there.failures) > 20
    assert there.text() == here.text()


def test_processes_by_function_and_by_name(here):
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        for function, reference in ((mistakes.fours_without_a_tail, mistakes.doubled), BY_NAME):
            there = mt.compare(function, reference, CASES, executor=executor)
            assert kinds(there) == kinds(here)
            assert there.text() == here.text()


def test_a_function_that_cannot_travel_is_told_how_to():
    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor,
        pytest.raises(mt.MetalloidError, match='or their names as "module:function"'),
    ):
        mt.compare(lambda x: x, mistakes.doubled, CASES[:3], executor=executor)


def test_a_dask_cluster(here):
    pytest.importorskip("distributed", reason="Dask is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the cluster's own start and end
        from distributed import Client, LocalCluster

        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            there = mt.compare(
                mistakes.fours_without_a_tail, mistakes.doubled, CASES, executor=client.get_executor()
            )
            assert kinds(there) == kinds(here)
            assert there.text() == here.text()


def test_progress_on_a_terminal_and_silence_elsewhere(capfd, monkeypatch):
    mt.compare(mistakes.whole_grid, mistakes.doubled, CASES[:20])
    assert capfd.readouterr() == ("", "")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    mt.compare(mistakes.whole_grid, mistakes.doubled, CASES[:20], progress=True)
    out, err = capfd.readouterr()
    assert out == "" and "comparing" in err and "20/20" in err
