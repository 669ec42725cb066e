"""``fedkin export`` and ``fedkin predict``: whose model, where to, and tables for spreadsheets."""

import io
import json
from contextlib import closing
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from fedkin import Result
from fedkin.cli.export import as_csv, tell_table
from fedkin.core.errors import FedkinError
from fedkin.experiment.run import run
from fedkin.export.opened_run import Opened as RunOpened
from fedkin.runs.database import open_run, put_facts
from fedkin.runs.output_files import make_folder
from fedkin.setup import snapshot
from tests.cli.command import fedkin, told
from tests.engine.small import small

NAMES = ("a", "b c", "../d")


class Opened:
    names = NAMES
    unfinished = "the run is not finished"

    def member(self, client):
        number = client if isinstance(client, int) else NAMES.index(client)
        return SimpleNamespace(name=NAMES[number], number=number)


class Written(dict):
    apart = 1e-7

    @property
    def file(self):
        return self["file"]

    def _asdict(self):
        return dict(self)


@pytest.fixture
def written(monkeypatch):
    places = []

    def write(given, format, place):
        if given == "b c":
            raise FedkinError("no program can be made")
        places.append(place)
        return Written(file=place / f"model.{format}", client=given)

    monkeypatch.setattr("fedkin.cli.export._opened", lambda folder, trust_code, client: Opened())
    monkeypatch.setattr("fedkin.export.export.export", write)
    monkeypatch.setattr(
        "fedkin.export.exportable.exportable", lambda opened, member, view="personal": member.name
    )
    return places


def test_one_model_or_all_of_them(written, tmp_path) -> None:
    for given in ([], ["--all", "--client", "a"]):
        said = "say which model: --client NAME, --all, or --view global"
        assert told("export", tmp_path, *given) == said
    wrong = told("export", tmp_path, "--client", "a", "--format", "onxx")
    assert wrong.startswith("unknown format 'onxx': did you mean 'onnx'")
    assert fedkin("export", tmp_path, "--client", "a").stdout == (
        f"{tmp_path}/export/a/model.safetensors   (within 1e-07 of the run's model)\n"
    )
    assert written == [tmp_path / "export" / "a"]


@pytest.mark.parametrize("whose", [("--all",), ("--client", "a")])
def test_an_error_keeps_its_code(whose, written, tmp_path, monkeypatch) -> None:
    (tmp_path / "mine.csv").touch()
    monkeypatch.setattr(
        "fedkin.export.export.export", lambda *_: make_folder(tmp_path / "mine.csv")
    )
    said = fedkin("export", tmp_path, *whose).stderr
    assert "mine.csv is a file: choose another folder" in said
    assert said.endswith("[FED-103]\n")


def test_a_model_that_fails_does_not_end_the_others(written, tmp_path) -> None:
    result = fedkin("export", tmp_path, "--all", "--out", tmp_path / "to", "--json")
    found = json.loads(result.stdout)
    assert result.exit_code == 2
    assert [one["client"] for one in found["written"]] == ["a", "../d"]
    assert found["failed"] == ["client b c: no program can be made"]
    assert written == [tmp_path / "to" / "a", tmp_path / "to" / "d-2"]  # no name leaves the folder
    assert "client b c: no program can be made" in result.stderr


def test_no_cell_is_a_formula() -> None:
    frame = pd.DataFrame({"=label": ["=1+1", "b"], "p": [0.123456789, -2.0]})
    text = as_csv(frame)
    assert "\n=" not in text
    assert not text.startswith("=")
    assert "0.123457" in text
    assert "-2" in text  # a number stays one


def test_a_table_goes_where_it_is_told(tmp_path, capsys) -> None:
    frame = pd.DataFrame({"label": ["a"]})
    tell_table(frame, ["one row is odd"], [tmp_path / "new.csv"], None)
    out, err = capsys.readouterr()
    assert (out, err) == ("label\na\n", "note: one row is odd\n")
    tell_table(frame, [], [tmp_path / "new.csv"], tmp_path / "a.csv")
    assert capsys.readouterr().out == f"{tmp_path / 'a.csv'}\n"
    assert (tmp_path / "a.csv").read_text() == "label\na\n"
    tell_table(frame, [], [tmp_path / "new.csv"], tmp_path / "a.csv", quiet=True)
    assert capsys.readouterr().out == ""


def test_a_table_takes_no_letters_place(tmp_path) -> None:
    frame, letter = pd.DataFrame({"prediction": ["a"]}), tmp_path / "letter.docx"
    letter.write_text("dear patient")
    with pytest.raises(FedkinError, match=r"is there already, and is no \.csv file"):
        tell_table(frame, [], [], letter)
    assert letter.read_text() == "dear patient"


def test_one_predicts_with_any_view_of_a_client_and_with_the_shared_one(tmp_path) -> None:
    out = run(small("ditto", run__rounds=2, run__clients=3), tmp_path / "run")
    opened = RunOpened(out)
    x = opened.parts.population.x[:4].numpy()
    np.savez(tmp_path / "x.npz", x=x)
    asked = ("predict", out, "--data", tmp_path / "x.npz")
    found = {}
    for given in ("--client 1", "--client 1 --view global", "--view global"):
        done = fedkin(*asked, *given.split())
        assert done.exit_code == 0, done.output
        assert done.stderr.splitlines()[-1] == f"next: fedkin export {out} {given} --format pt2"
        found[given] = pd.read_csv(io.StringIO(done.stdout))
    own, other, shared = found.values()
    pd.testing.assert_frame_equal(other, shared)  # ditto's is the same for all
    for view, frame in (("personal", own), ("global", other)):
        chances = opened.personal(opened.member(1), view)(torch.from_numpy(x)).exp()
        np.testing.assert_allclose(frame.filter(like="p("), chances.detach(), atol=1e-5)
    assert not np.allclose(own.filter(like="p("), other.filter(like="p("))
    pd.testing.assert_frame_equal(
        Result(out).predict(1, x, view="global").filter(like="p("),
        other.filter(like="p("),
        check_dtype=False,  # a CSV file does not say it
        rtol=1e-4,
    )
    assert told(*asked, "--client", "1", "--view", "globul").startswith(
        "unknown view 'globul': did you mean 'global'"
    )
    assert told(*asked) == "say whose model: --client NAME, or --view global for the shared one"
    assert told(*asked, "--view", "personal").startswith("say whose model")


def test_the_shared_model_of_a_method_without_one_predicts_nothing(tmp_path) -> None:
    out = run(small("local", run__rounds=1, run__clients=3), tmp_path / "run")
    assert told("predict", out, "--data", "x.npz", "--view", "global") == (
        "local has no shared model that the server alone could give: it gives clients no view "
        "'global'; take a client's own: --client NAME"
    )


def test_only_whom_a_command_names_is_copied_of_a_run_that_goes_on(tmp_path, monkeypatch) -> None:
    folder = run(small("fedavg", run__rounds=1), tmp_path / "run")
    with closing(open_run(folder, write=True)) as database, database.commit() as into:
        put_facts(into, {"finished": False})
    copied, real = [], snapshot.Copies

    def copies(aside, states, of):
        copied.append(None if of is None else sorted(of))
        return real(aside, states, of)

    monkeypatch.setattr(snapshot, "Copies", copies)
    np.savez(tmp_path / "new.npz", x=Result(folder).data(0)[0].numpy())
    asked = ["--data", str(tmp_path / "new.npz"), "--out", str(tmp_path / "answers.csv")]
    assert fedkin("predict", str(folder), "--client", "2", *asked).exit_code == 0
    assert fedkin("export", str(folder), "--client", "1").exit_code == 0
    assert fedkin("export", str(folder), "--all").exit_code == 0
    assert "is not finished" in told("export", str(folder), "--view", "global")
    assert copied == [[-1], [-1, 2], [-1, 1], None, [-1]]  # -1 is the server
