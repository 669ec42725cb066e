"""Each transform in whole runs: same seed, same bits, whichever engine, interrupted or not."""

import pytest

from fedkin.engine.transports import processes
from fedkin.experiment.resume import resume
from fedkin.experiment.run import run
from fedkin.runs.database import read_only
from fedkin.runs.spec import parse
from tests.engine.small import FORKED, content, outcome

CASES = {
    "norm_bound": ("fedavg", [{"name": "norm_bound", "bound": 0.05}]),
    "median": ("ditto", [{"name": "norm_bound", "bound": 0.05}, {"name": "median"}]),
    "trimmed_mean": ("fedprox", [{"name": "trimmed_mean", "share": 0.25}]),
    "geometric_median": ("fedem", [{"name": "geometric_median"}]),
    "krum": ("apfl", [{"name": "krum", "attackers": 1, "chosen": 2}]),
    "attack, sign flip": ("cgpfl", [{"name": "attack", "kind": "sign_flip"}]),
    "attack, label flip": ("ppfl", [{"name": "attack", "kind": "label_flip"}, {"name": "median"}]),
    "attack, alie": ("fedavg", [{"name": "attack", "kind": "alie", "share": 0.4}]),
    "median, in ppfl": ("ppfl", [{"name": "median"}]),
    "top_k": ("fedavg", [{"name": "top_k", "share": 0.1}, {"name": "median"}]),
    "random_k": ("scaffold", [{"name": "random_k", "share": 0.2, "feedback": False}]),
    "quantize": ("cgpfl", [{"name": "quantize", "bits": 2}]),
    "quantize, predictions": ("comet", [{"name": "quantize"}]),
    "median, predictions": ("ds_fl", [{"name": "median"}]),
    "krum, predictions": (
        "fedmd",
        [{"name": "attack", "kind": "alie", "share": 0.4}, {"name": "krum", "attackers": 1}],
    ),
    "trust": ("fedavg", [{"name": "trust", "lr": 0.05}]),
    "bfloat16": ("fedfomo", [{"name": "bfloat16"}]),
}


def spec(case, **settings):
    method, transforms = CASES[case]
    settings = {"run__participation": 1.0, **settings}
    given = {**content(method, **settings), "transforms": transforms}
    if case == "trust":
        given["public"] = {"source": "held-out", "samples": 60, "labeled": True}
    return parse(given)[0]


class Stop(Exception):
    pass


@pytest.mark.certifies("law")
@pytest.mark.parametrize("case", CASES)
def test_engines_and_resumed_runs_give_the_same_bits(case, tmp_path, monkeypatch):
    plain = outcome(run(spec(case), tmp_path / "plain"))
    monkeypatch.setattr(processes, "subprocess", FORKED)
    engine = {"engine__name": "processes", "engine__workers": 2, "engine__state": "disk"}
    assert outcome(run(spec(case, **engine), tmp_path / "two")) == plain

    def stop(record):
        if record.round == 2:
            raise Stop

    with pytest.raises(Stop):
        run(spec(case), tmp_path / "stopped", progress=stop)
    assert outcome(resume(tmp_path / "stopped")) == plain


def test_a_rule_changes_the_run_and_the_record_says_who_was_cut(tmp_path):
    told = {}
    for name, transforms in {
        "mean": [],
        "krum": [{"name": "krum", "attackers": 1, "chosen": 2}],
    }.items():
        given = {**content("fedavg", run__participation=1.0), "transforms": transforms}
        folder = run(parse(given)[0], tmp_path / name)
        with read_only(folder) as database:
            rows = database.rows("SELECT round, client, value FROM notes WHERE name = 'kept'")
            told[name] = sorted((r, c, float(v)) for r, c, v in rows), database.facts()
    assert told["mean"][0] == []
    kept, _ = told["krum"]
    assert len(kept) == 6 * 4  # every client after every round, and after the finish
    assert all(sum(v for r, _, v in kept if r == number) == 2 for number in (1, 2, 3))
    assert told["mean"][1]["fingerprint"] != told["krum"][1]["fingerprint"]
