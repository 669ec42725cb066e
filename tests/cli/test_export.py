"""``fedkin export`` and ``fedkin predict``: whose model, where to, and tables for spreadsheets."""

import json
from types import SimpleNamespace

import pandas as pd
import pytest

from fedkin.cli.export import as_csv, tell_table
from fedkin.core.errors import FedkinError
from tests.cli.command import fedkin, told

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

    monkeypatch.setattr("fedkin.cli.export._opened", lambda folder, trust_code: Opened())
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
    tell_table(frame, ["one row is odd"], tmp_path / "new.csv", None)
    out, err = capsys.readouterr()
    assert (out, err) == ("label\na\n", "note: one row is odd\n")
    tell_table(frame, [], tmp_path / "new.csv", tmp_path / "a.csv")
    assert capsys.readouterr().out == f"{tmp_path / 'a.csv'}\n"
    assert (tmp_path / "a.csv").read_text() == "label\na\n"
    tell_table(frame, [], tmp_path / "new.csv", tmp_path / "a.csv", quiet=True)
    assert capsys.readouterr().out == ""
