"""[model] buffers: same seed, same bits, whichever engine, interrupted or not; and what is recorded
of it.
"""

from functools import cache

import pytest

from fedkin.core.errors import FedkinError
from fedkin.engine.transports import processes
from fedkin.experiment.resume import resume
from fedkin.experiment.run import run
from fedkin.runs.database import read_only
from tests.engine.small import FORKED, outcome, outcome_of, small

MODEL = "tests.parity.normed:Normed"
HALVES = {"method__personal": ["layers.1."]}
CASES = {
    "fedavg-local": ("fedavg", "local", {}),
    "fedavg-drop": ("fedavg", "drop", {}),
    "cgpfl-local": ("cgpfl", "local", {}),
    "ppfl-local": ("ppfl", "local", {}),
    "fedper-local": ("fedper", "local", HALVES),
    "partial_fl-local": ("partial_fl", "local", {"method__personal": "last"}),
    "ditto-drop": ("ditto", "drop", {}),
    "ditto-local": ("ditto", "local", {}),
}


def spec(case, **settings):
    method, buffers, own = CASES[case]
    return small(method, model__name=MODEL, model__buffers=buffers, **{**own, **settings})


@cache
def plain(case):
    return outcome_of(spec(case))


class Stop(Exception):
    pass


@pytest.mark.rotating
@pytest.mark.parametrize("case", CASES)
def test_worker_processes_and_disk(case, tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "subprocess", FORKED)
    engine = {"engine__name": "processes", "engine__workers": 2, "engine__state": "disk"}
    assert outcome(run(spec(case, **engine), tmp_path / "run")) == plain(case)


@pytest.mark.rotating
@pytest.mark.parametrize("after", [0, 2])
@pytest.mark.parametrize("case", CASES)
def test_interrupted_and_resumed(case, after, tmp_path):
    def stop(record):
        if record.round == after:
            raise Stop

    with pytest.raises(Stop):
        run(spec(case), tmp_path / "run", progress=stop)
    assert outcome(resume(tmp_path / "run")) == plain(case)


WEIGHTS = 64 * 6 + 6 + 2 * 6 + 6 * 10 + 10  # of Normed on digits


@pytest.mark.parametrize(
    ("buffers", "scalars"), [("global", WEIGHTS + 2 * 6), ("local", WEIGHTS), ("drop", WEIGHTS)]
)
def test_the_record_says_which_and_the_ledger_agrees(buffers, scalars, tmp_path):
    folder = run(small("fedavg", model__name=MODEL, model__buffers=buffers), tmp_path / "run")
    with read_only(folder) as database:
        assert database.facts()["spec"]["model"]["buffers"] == buffers
        assert {
            row[0] for row in database.rows("SELECT parameters FROM messages WHERE parameters > 0")
        } == {scalars}
    assert f'buffers = "{buffers}"' in (folder / "experiment.toml").read_text()


def test_an_unknown_choice():
    with pytest.raises(
        FedkinError, match=r"model.buffers: unknown value 'lokal': did you mean 'local'\?"
    ):
        small("fedavg", model__buffers="lokal")
