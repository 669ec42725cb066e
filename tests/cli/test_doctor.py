"""``fedkin doctor``: what it prints of a diagnosis."""

import json

import pytest

from tests.cli.command import fedkin

VERDICT = {
    "measure": "accuracy",
    "federate": True,
    "says": "federate",
    "wrong": 0.031,
    "alone": 0.5,
    "federated": 0.625,
    "constant": 0.25,
    "gain": 0.125,
    "low": 0.1,
    "high": 0.15,
    "clients": 7,
}
CANDIDATE = {
    "method": "ditto",
    "gain": 0.1,
    "low": 0.05,
    "high": 0.2,
    "reason": "it gained most",
    "lose": ["s1", "s2", "s3", "s4"],
    "needs": [],
}
PROBE = {"method": "ditto", "failed": "", "seconds": 90.0, "bytes": 1.5e6, "memory": 700}
FOUND = {
    "data": {
        "clients": 7,
        "samples": {"least": 3, "most": 90, "median": 31.0},
        "smallest": [{"client": "s9", "train": 3, "val": 1}],
        "labels": {"distance": 0.4, "chance": 0.1, "classes": 2.0},
        "features": None,
    },
    "verdict": VERDICT,
    "privacy": None,
    "candidates": [CANDIDATE, {**CANDIDATE, "method": "apfl", "lose": [], "needs": ["labels"]}],
    "left_out": [],
    "may_lose": {"methods": ["ditto", "ifca"], "beside": ["fedavg"]},
    "safe": ["ditto", "apfl"],
    "traps": ["a [trap]"],
    "probes": [PROBE, {**PROBE, "method": "fedrep", "failed": "it needs a head"}],
    "rounds": 3,
    "of": 50,
}


@pytest.fixture
def asked(monkeypatch):
    found, calls = dict(FOUND), []

    def diagnosis(spec, rounds, more, named):
        calls.append((spec, rounds, more, named))
        return found

    monkeypatch.setattr("fedkin.doctor.diagnosis.diagnosis", diagnosis)
    monkeypatch.setenv("COLUMNS", "120")  # no cell is folded, whatever terminal runs the test
    return found, calls


def test_options_reach_the_diagnosis(asked) -> None:
    fedkin("doctor", "--method", "apfl", "--rounds", 5, "--methods", "ditto, moon", "--json")
    ((spec, rounds, more, named),) = asked[1]
    assert (spec.method.name, rounds, more, named) == ("apfl", 5, ["ditto", "moon"], True)
    fedkin("doctor", "--set", "run.rounds=9", "--json")
    assert asked[1][1][0].run.rounds == 9
    assert asked[1][1][1:] == (3, [], False)


def test_everything_that_was_found_is_printed(asked) -> None:
    text = fedkin("doctor").stdout
    flat = " ".join(text.split())
    assert "7 clients with 3 to 90 training samples, median 31" in flat
    assert "Verdict: federate (3.10 % chance of such a gain if there were none)" in flat
    assert "each client alone 50.00 %, federated 62.50 %" in flat
    assert "gain +0.1250 [+0.1000, +0.1500] (95 %) over 7 clients" in flat
    assert "features:" not in text
    assert "! a [trap]" in text  # no markup
    assert "1.5 MB" in text
    assert "fedrep cannot run: it needs a head" in flat
    assert "nobody that can be identified" in flat
    assert json.loads(fedkin("doctor", "--json").stdout) == FOUND
    assert "Two to try first" in text
    assert "With their defaults ditto and ifca may end points below fedavg on such data" in flat
    assert "Fewer clients lose by ditto and apfl: with --set method.safe=true each client" in flat
    asked[0]["verdict"] = {**VERDICT, "federate": False}
    alone = " ".join(fedkin("doctor").stdout.split())
    assert "Begin with local, each client alone. If you federate nevertheless, two to try" in alone
    noise = {"clip": 1.0, "noise": 2.0, "epsilon": 8.0, "delta": 1e-5, "rounds": 3}
    asked[0].update(privacy=noise, left_out=["ifca", "hypcluster"])
    private = " ".join(fedkin("doctor").stdout.split())
    assert "the best way are ifca, hypcluster: this experiment's [privacy] or" in private
    assert "without noise" in private


def test_clients_of_one_size_have_so_many_samples_each(asked) -> None:
    asked[0]["data"] = {**FOUND["data"], "samples": {"least": 18, "most": 18, "median": 18.0}}
    assert "7 clients with 18 training samples each" in fedkin("doctor").stdout
    asked[0]["data"]["clients"] = 1
    assert "1 client with 18 training samples\n" in fedkin("doctor").stdout


def test_what_is_recommended_and_may_lose_says_so(asked) -> None:
    def title() -> str:
        return " ".join(fedkin("doctor").stdout.split())

    below = "may end below (see under the table)"
    assert f"Two to try first, beside fedavg: ditto {below}" in title()
    asked[0]["may_lose"] = {"methods": ["apfl", "ditto"], "beside": ["local", "fedavg"]}
    assert f"Two to try first, beside local and fedavg: each {below}" in title()
    asked[0]["may_lose"] = {"methods": ["ifca"], "beside": ["fedavg"]}
    assert "Two to try first method" in title()
    asked[0]["candidates"] = [CANDIDATE]
    asked[0]["verdict"] = {**VERDICT, "federate": False}
    assert "If you federate nevertheless, one to try first method" in title()


def test_a_method_chosen_by_set_is_probed_and_cautioned_as_one_by_option(asked) -> None:
    for given in ("--set=method=ifca", "--set=method.name=ifca", "--set= method =ifca"):
        said = " ".join(fedkin("doctor", given).stdout.split())
        assert "; ifca, which this experiment has, is one of them" in said
    assert [call[3] for call in asked[1]] == [True] * 3
    given = ["--set=method=ifca", "--set=method.safe=true"]
    assert "which this experiment has" not in fedkin("doctor", *given).stdout
    fedkin("doctor", "--set=method.lr=0.2")
    assert asked[1][-1][3] is False


def test_a_method_that_was_asked_for_and_may_lose_is_said(asked) -> None:
    said = "run --method fedavg beside them"
    for given, method in ((["--method", "Ditto"], "ditto"), (["--set=method=ifca"], "ifca")):
        one = f"; {method}, which this experiment has, is one of them"
        flat = " ".join(fedkin("doctor", *given).stdout.split())
        assert f"{said}{one} Fewer clients" in flat
    assert f"{said} Fewer clients" in " ".join(fedkin("doctor", "--method", "apfl").stdout.split())


def test_what_was_not_found_is_not_printed(asked) -> None:
    asked[0].update(verdict=None, candidates=[], may_lose=None, safe=[], traps=[], probes=[])
    text = fedkin("doctor").stdout
    assert "Verdict: none. It takes clients" in " ".join(text.split())
    assert "No trap that is known" in text
    assert "to try first" not in text
    assert "safe" not in text
    assert "The whole experiment" not in text
