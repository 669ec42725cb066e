"""The last lines of ``fedkin run``."""

import io
import logging

import pytest
from rich.console import Console

from fedkin.cli.talk import closing as module
from fedkin.cli.talk.closing import closing
from fedkin.core.errors import FedkinError
from fedkin.experiment.terminal import loudness
from fedkin.report import formatting
from fedkin.report.summary import summary
from fedkin.report.words.run_words import in_the_mean
from tests.awkward import LOST, record


@pytest.fixture
def reports(monkeypatch):
    """No page is drawn; what would be said of it."""
    said = {}

    def write(folder):
        if "error" in said:
            raise said["error"]
        return folder / "report.html"

    monkeypatch.setattr(module, "write_report", write)
    return said


def lines(folder):
    out = io.StringIO()
    closing(folder, Console(file=out, width=40))
    return out.getvalue().splitlines()


def test_every_line_has_its_name_and_is_never_wrapped(tmp_path, reports) -> None:
    folder = record(tmp_path / "a run")
    told = lines(folder)
    found = summary(folder)
    final = found["headline"]["personal"]["final"]
    mean = formatting.value(found["measure"], final["mean"])
    label = formatting.label(found["measure"])
    assert told[0].startswith(
        f"result  personal {label} {mean} (test, mean of {in_the_mean(final)})"
    )
    assert "; worst decile " in told[0]
    assert told[1].startswith("        global ")
    assert "(test, mean of" not in told[1]  # said once
    named = {line[:8].strip(): line[8:] for line in told if line[:8].strip()}
    assert list(named) == ["result", "time", "run", "report", "next"]
    assert named["run"] == str(folder)
    assert named["next"].startswith(f"fedkin show '{folder}'   or   fedkin report '{folder}'")


def test_baselines_are_called_so(tmp_path) -> None:
    result = summary(record(tmp_path / "run"))
    result["baselines"] = {"constant": {"mean": 0.5}}
    assert f"baselines: {formatting.BASELINES['constant']} 50.00 %" in module._results(result)


def test_a_worst_decile_of_few_rows_says_on_how_many_it_rests(
    tmp_path, reports, monkeypatch
) -> None:
    folder = record(tmp_path / "run")
    found = summary(folder)

    def first_line(*worst):
        rows = [{"test": test, "few": few} for test, few in worst]
        monkeypatch.setattr(module, "summary", lambda folder: {**found, "worst_clients": rows})
        return lines(folder)[0]

    assert first_line((1, True)).endswith(" (on 1 test row)")
    assert first_line((1, True), (13, True)).endswith(" (on 14 test rows of 2 clients)")
    assert "(on " not in first_line((1, True), (99, False))


def test_how_good_held_out_clients_became_is_said(tmp_path, reports, monkeypatch) -> None:
    folder = record(tmp_path / "run")
    nothing = {"mean": None, "clients": 0}
    joins = [
        {"accuracy": {"mean": mean, "clients": 2}, "rmse": nothing, "loss": nothing}
        for mean in (0.5, 0.75)  # with few labelled samples, and with all
    ]
    found = {**summary(folder), "unseen": {"clients": 2, "by_labels": joins, "each": []}}
    monkeypatch.setattr(module, "summary", lambda folder: found)
    sentence = "        newcomers accuracy 75.00 % (test, mean of 2 held-out clients)"
    assert lines(folder).count(sentence) == 1


def test_what_is_worth_saying_is_said_once(tmp_path, reports, capsys) -> None:
    folder = record(tmp_path / "run", said=["a step was not compiled", "a step was not compiled"])
    loudness(logging.INFO)
    lines(folder)
    err = capsys.readouterr().err
    assert err.count("note: a step was not compiled") == 1
    assert f"replies were missing {len(LOST)} times: fedkin show {folder} says why" in err


@pytest.mark.parametrize("error", [FedkinError("no chart"), OSError("no room")])
def test_without_a_page_the_run_is_safe(error, tmp_path, reports) -> None:
    reports["error"] = error
    told = lines(record(tmp_path / "run"))
    assert f"report  not written: {error}" in told
    assert told[-1].startswith("next")


def test_one_client_is_no_clients(monkeypatch, tmp_path, reports) -> None:
    found = summary(record(tmp_path / "r"))
    for picks in found["headline"].values():
        picks["final"] |= {"clients": 1, "without": 0, "interval": None}
    assert "mean of 1 client)" in module._results(found)[0]
