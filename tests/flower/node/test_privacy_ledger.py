"""What runs with noise cost a node's data together, and the limit of its owner."""

import json
import re

import pytest

pytest.importorskip("flwr")

from fedkin.core.errors import FedkinError
from fedkin.engine.store import StoreError
from fedkin.flower import config
from fedkin.flower.envelope import Place, Refused, RemoteStep, Request
from fedkin.flower.node import cost_of_spec as module
from fedkin.flower.node.cost_of_spec import cost_of_spec
from fedkin.flower.node.privacy_ledger import SPENT, PrivacyLedger
from fedkin.report.privacy_costs import PrivacyCost, costs_in_words, total_cost
from fedkin.runs.spec import parse
from tests.engine.small import content, small
from tests.flower.node import host_examples

NOISE = {"noise": 2.0, "clip": 1.0, "delta": 1e-5, "where": "client"}


def private(**privacy):
    return parse({**content("fedavg", run__rounds=2), "privacy": {**NOISE, **privacy}})[0]


def asking(run, joined=None, hello=False, experiment=""):
    place = Place(client=1, clients=4, classes=10, architecture="mlr", joined=joined)
    told = {"version": "", "experiment": experiment, "run": run, "name": "c1"}
    return Request(**told, place=None if hello else place)


def noted(spent, spec, request, again=0):
    """As the host does it."""
    spent.note(spec, request, spent.check(spec, request), again)


@pytest.fixture(autouse=True)
def _one_each(monkeypatch):
    """Two in place of the accountant's number, which takes its library a second."""
    monkeypatch.setattr(
        module, "facts_of", lambda spec, again=0, trained=None: {"epsilon": 2.0 + again}
    )


def test_runs_are_kept_each_once_and_added_up(tmp_path, capsys):
    spec = private()
    for run in ("a" * 16, "b" * 16, "b" * 16):
        noted(PrivacyLedger(tmp_path, None), spec, asking(run))
    runs = PrivacyLedger(tmp_path, None).runs()
    assert [one.run for one in runs] == ["a" * 16, "b" * 16]
    assert total_cost(runs) == (4.0, 2e-5)
    first, second = capsys.readouterr().out.splitlines()
    assert "this node has been in 1 run with noise: epsilon = 2 (run aaaaaaaaaaaaaaaa)" in first
    assert (
        "2 runs with noise: epsilon = 2 (run aaaaaaaaaaaaaaaa), 2 (run bbbbbbbbbbbbbbbb), "
        in second
    )
    assert second.endswith("together 4 at delta = 2e-05 by basic composition")


def test_a_run_beyond_the_owners_limit_is_declined_before_it_begins(tmp_path):
    spec, most = private(), 5.0
    for run in ("a" * 16, "b" * 16):
        noted(PrivacyLedger(tmp_path, most), spec, asking(run))
    before = (tmp_path / SPENT).read_text()
    for hello in (True, False):
        with pytest.raises(Refused, match=r"max_epsilon = 5 in .* is less than this run"):
            PrivacyLedger(tmp_path, most).check(spec, asking("c" * 16, hello=hello))
    assert (tmp_path / SPENT).read_text() == before
    PrivacyLedger(tmp_path, most).check(spec, asking("b" * 16))  # one that has begun goes on
    # and so does one without noise
    PrivacyLedger(tmp_path, most).check(small("fedavg"), asking("c" * 16))
    PrivacyLedger(tmp_path, 6.0).check(spec, asking("c" * 16))


def test_a_round_that_a_server_released_again_is_in_the_sum_and_within_the_limit(tmp_path, capsys):
    spec, (one, other) = private(where="server"), ("a" * 16, "b" * 16)
    for run, again in ((one, 0), (other, 0), (one, 1), (one, 1), (one, 0)):
        noted(PrivacyLedger(tmp_path, 5.0), spec, asking(run), again)
    runs = PrivacyLedger(tmp_path, 5.0).runs()
    assert [(each.run, each.epsilon, each.again) for each in runs] == [
        (one, 3.0, 1),
        (other, 2.0, 0),
    ]
    assert len((tmp_path / SPENT).read_text().splitlines()) == 3
    assert f"run {one} released 1 round once more; " in capsys.readouterr().out.splitlines()[-1]
    for _ in range(2):
        with pytest.raises(Refused, match=r"max_epsilon = 5 in .* is less than this run"):
            noted(PrivacyLedger(tmp_path, 5.0), spec, asking(other), 1)
    assert PrivacyLedger(tmp_path, 5.0).runs() == runs
    noted(PrivacyLedger(tmp_path, None), spec, asking(other), 1)
    assert total_cost(PrivacyLedger(tmp_path, None).runs()) == (6.0, 2e-5)


def test_half_a_line_is_of_a_run_that_did_not_begin(tmp_path):
    """As after a loss of power: the list is read, and what begins later stands behind it."""
    spec = private()
    noted(PrivacyLedger(tmp_path, None), spec, asking("a" * 16))
    whole = (tmp_path / SPENT).read_text()
    (tmp_path / SPENT).write_text(whole + whole[:40])
    for run in ("b" * 16, "c" * 16):
        noted(PrivacyLedger(tmp_path, None), spec, asking(run))
    assert [one.run for one in PrivacyLedger(tmp_path, None).runs()] == [
        each * 16 for each in "abc"
    ]


def test_rounds_released_again_count_where_the_cost_is_known_only_later(tmp_path):
    spec, line = private(where="server"), cost_of_spec("a" * 16, private(where="server"), 3)
    line = line._replace(epsilon=None, experiment=asking("a" * 16).experiment)
    (tmp_path / SPENT).write_text(json.dumps(line._asdict()) + "\n")
    with pytest.raises(Refused, match="epsilon = 5 "):
        PrivacyLedger(tmp_path, 6.0).check(spec, asking("b" * 16))


def test_a_round_is_told_again_without_cost_where_the_node_adds_the_noise(tmp_path):
    for again in (0, 2):
        noted(PrivacyLedger(tmp_path, 2.0), private(), asking("a" * 16), again)
    assert [one.again for one in PrivacyLedger(tmp_path, None).runs()] == [0]


def test_the_list_is_read_once_for_a_request(tmp_path, monkeypatch):
    spec = parse({**content("fedavg", run__rounds=2, run__clients=4), "privacy": NOISE})[0]
    node, read, runs = host_examples.made(tmp_path, spec), [], PrivacyLedger.runs
    monkeypatch.setattr(PrivacyLedger, "runs", lambda self: read.append(1) or runs(self))
    found, _ = host_examples.ask(node, host_examples.request(spec), host_examples.down(spec))
    assert found.error is None
    assert len(read) == 1


def test_what_no_node_knows_is_listed_by_its_settings_and_cannot_be_within_a_limit(tmp_path):
    spec = private(unit="sample", where="server")
    noted(PrivacyLedger(tmp_path, None), spec, asking("a" * 16))
    runs = PrivacyLedger(tmp_path, None).runs()
    assert costs_in_words(runs) == (
        "1 run with noise: of unknown epsilon noise 2.0, 2 rounds (run aaaaaaaaaaaaaaaa)"
    )
    with pytest.raises(Refused, match=r"cannot be held, since a node does not know .* 2 rounds"):
        PrivacyLedger(tmp_path, 5.0).check(private(), asking("b" * 16, experiment="1" * 64))


def test_without_the_accountant_it_is_named_and_what_was_not_known_is_computed_later(
    tmp_path, monkeypatch
):
    spec, accounted = private(), module.facts_of

    def missing(spec, again=0, trained=None):
        raise FedkinError("[privacy] needs the package dp-accounting, the extra privacy")

    monkeypatch.setattr(module, "facts_of", missing)
    noted(PrivacyLedger(tmp_path, None), spec, asking("a" * 16))
    with pytest.raises(Refused, match=r"rounds \(run a+\).*: on this node, \[privacy\] needs .*"):
        PrivacyLedger(tmp_path, 5.0).check(spec, asking("b" * 16))
    monkeypatch.setattr(module, "facts_of", accounted)
    PrivacyLedger(tmp_path, 5.0).check(spec, asking("b" * 16))
    with pytest.raises(Refused, match=r"is less than this run .* = 2 \(run a+\), 2 \(run b"):
        PrivacyLedger(tmp_path, 3.0).check(spec, asking("b" * 16))
    with pytest.raises(Refused, match="may write the epsilon of such a run into its line of spent"):
        PrivacyLedger(tmp_path, 5.0).check(private(), asking("b" * 16, experiment="1" * 64))


def test_a_newcomers_data_are_in_no_run(tmp_path):
    spec = private(where="server")
    PrivacyLedger(tmp_path, 1.0).check(spec, asking("a" * 16, joined=2))
    noted(PrivacyLedger(tmp_path, 1.0), spec, asking("a" * 16, joined=2), 3)
    PrivacyLedger(tmp_path, 1.0).check(spec, asking("a" * 16, hello=True))
    assert not (tmp_path / SPENT).exists()
    with pytest.raises(Refused):
        PrivacyLedger(tmp_path, 1.0).check(spec, asking("a" * 16))


@pytest.mark.parametrize("written", ["NaN", '"2.5"', "-1.0", "Infinity", "[]"])
def test_an_epsilon_that_its_owner_wrote_is_a_number(tmp_path, written):
    """The remedy for a cost that no node knows: a wrong one must not lift the limit."""
    noted(PrivacyLedger(tmp_path, None), private(), asking("a" * 16))
    line = json.loads((tmp_path / SPENT).read_text())
    text = json.dumps({**line, "epsilon": "HERE"}).replace('"HERE"', written)
    (tmp_path / SPENT).write_text(f"{text}\n")
    with pytest.raises(StoreError, match=r"run a{16} has a number that is none, or below 0"):
        PrivacyLedger(tmp_path, 10.0).check(private(), asking("b" * 16))


def test_a_list_that_cannot_be_read_is_said(tmp_path):
    (tmp_path / SPENT).write_text("half a li")
    with pytest.raises(StoreError, match=re.escape(f"{tmp_path / SPENT} cannot be read")):
        PrivacyLedger(tmp_path, 1.0).check(private(), asking("a" * 16))


def test_a_node_declines_in_one_sentence_when_it_is_first_asked(tmp_path):
    spec = parse({**content("fedavg", run__rounds=2, run__clients=4), "privacy": NOISE})[0]
    node = host_examples.made(tmp_path, spec, max_epsilon=1.0)
    found, _ = host_examples.ask(node, host_examples.request(spec, place=None, steps=()))
    assert found.error is not None
    assert found.error.startswith("max_epsilon = 1 in this node's node.toml is less than this run")
    fine = host_examples.made(tmp_path, spec, max_epsilon=2.0)
    down = host_examples.down(spec)
    found, _ = host_examples.ask(fine, host_examples.request(spec), down)
    assert found.error is None
    kept = PrivacyCost(host_examples.RUN, 2.0, 1e-5, "2.0", 2, config.fingerprint(spec))
    assert fine._privacy_ledger.runs() == [kept]


@pytest.mark.parametrize("most", [2.0, None])
def test_a_run_does_not_go_on_with_another_experiment_whatever_it_is_called(tmp_path, most):
    spec = parse({**content("fedavg", run__rounds=2, run__clients=4), "privacy": NOISE})[0]
    found, _ = host_examples.ask(
        host_examples.made(tmp_path, spec, max_epsilon=most),
        host_examples.request(spec),
        host_examples.down(spec),
    )
    assert found.error is None
    dear = parse({**content("fedavg", run__rounds=90, run__clients=4), "privacy": NOISE})[0]
    node = host_examples.made(tmp_path, dear, max_epsilon=most)  # its owner accepts the next one
    for asked in ({"place": None, "steps": ()}, {"steps": (RemoteStep(op="local", round=2),)}):
        found, sent = host_examples.ask(
            node, host_examples.request(dear, **asked), host_examples.down(dear)
        )
        assert found.error is not None
        assert "began on this node with another experiment" in found.error
        assert sent == []
    assert [one.rounds for one in node._privacy_ledger.runs()] == [2]
