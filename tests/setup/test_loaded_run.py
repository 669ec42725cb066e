"""A run directory as objects: what must be as it was, and what is not committed yet."""

import tempfile
from types import SimpleNamespace

import pytest

from fedkin import Experiment
from fedkin.core.errors import FedkinError
from fedkin.runs.directory import SPEC
from fedkin.runs.spec import parse
from fedkin.setup import loaded_run as module
from fedkin.setup.loaded_run import committed, load, same_data, spec_of, with_data
from tests.awkward import population, record

PEOPLE = population()


def test_a_directory_says_its_experiment(tmp_path) -> None:
    (tmp_path / SPEC).write_text('[method]\nname = "ditto"\n[run]\nrounds = 7\n')
    assert spec_of(tmp_path).run.rounds == 7
    assert spec_of(tmp_path, workers=5).engine.workers == 5
    (tmp_path / SPEC).write_text("[run]\nroundz = 7\n")
    with pytest.raises(FedkinError, match=f"{SPEC}: unknown key .*roundz.*line 2"):
        spec_of(tmp_path)
    (tmp_path / SPEC).write_text("# all of it is lost\n")
    with pytest.raises(FedkinError, match=f"{SPEC} is empty: put back a copy of it, or begin"):
        spec_of(tmp_path)


def test_code_that_it_names_needs_trust(tmp_path) -> None:
    (tmp_path / SPEC).write_text('[model]\nname = "mine.net:Net"\n')
    with pytest.raises(FedkinError, match=r"mine\.net:Net.*--trust-code"):
        spec_of(tmp_path)


def test_models_belong_to_their_data(tmp_path, monkeypatch) -> None:
    asked = []
    monkeypatch.setattr(module, "same_frozen", lambda *given: asked.append(given))
    parts = SimpleNamespace(population=PEOPLE, models={"m": 1})
    facts = {"data_digest": PEOPLE.digest()}
    same_data(tmp_path, parts, facts)
    assert asked == [(tmp_path, {"m": 1}, facts)]
    with pytest.raises(FedkinError, match="the data are not those that this run began with"):
        same_data(tmp_path, parts, {"data_digest": "other"})
    assert len(asked) == 1


def test_before_the_first_commit_there_is_no_state() -> None:
    assert committed({"w": 1}) == {"w": 1}
    with pytest.raises(FedkinError, match="nothing is committed yet: start the run again"):
        committed(None)


def test_models_of_a_deployment_are_at_its_nodes(tmp_path) -> None:
    folder = record(tmp_path / "run", deployment="superlink")
    with pytest.raises(FedkinError, match=r"never left their nodes, .*; fedkin deploy join is for"):
        load(folder)


@pytest.mark.parametrize("fails", ["host_of", "snapshot", "committed"])
def test_nothing_is_left_aside_of_a_run_that_cannot_be_loaded(tmp_path, monkeypatch, fails) -> None:
    def fail(*given: object) -> None:
        raise FedkinError("no such device")

    asked = Experiment("local", clients=2, rounds=1, model="mlr", engine="inprocess")
    folder = asked.run(tmp_path / "run").folder
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "aside"))
    (tmp_path / "aside").mkdir()
    monkeypatch.setattr(module, fails, fail)
    with pytest.raises(FedkinError, match="no such device"):
        load(folder)
    assert not [*(tmp_path / "aside").iterdir()]


def test_the_data_are_looked_for_where_a_run_was_carried(tmp_path, monkeypatch) -> None:
    run, known = tmp_path / "runs" / "a", tmp_path / "known"
    run.mkdir(parents=True)
    known.mkdir()
    monkeypatch.setenv("FEDKIN_DATA", str(known))
    was = tmp_path / "was" / "t.csv"
    spec = parse({"data": {"name": str(was)}})[0]
    with pytest.raises(FedkinError, match=r"its data are not at .*t\.csv: put t\.csv into this"):
        with_data(spec, run)
    for place in (
        known / "t.csv",
        run.parent / "t.csv",
        was,
        run / "t.csv",
    ):  # the last comes first
        place.parent.mkdir(exist_ok=True)
        place.write_text("a,b\n")
        assert with_data(spec, run).data.name == str(place)
    digits = parse({"data": {"name": "digits"}})[0]
    assert with_data(digits, run) == digits


def test_a_folder_that_is_gone_and_files_of_the_run_hide_no_data(tmp_path, monkeypatch) -> None:
    monkeypatch.delenv("FEDKIN_DATA", raising=False)
    run = tmp_path / "a"
    run.mkdir()
    was, public = tmp_path / "clients.csv", tmp_path / "was" / "public.npz"
    for file in (was, run / "clients.csv", tmp_path / "public.npz"):
        file.write_text("a")
    data = {"name": str(was), "dir": str(tmp_path / "gone")}
    spec = parse({"data": data, "public": {"source": str(public)}})[0]
    found = with_data(spec, run)
    assert (found.data.name, found.data.dir) == (str(was), None)  # clients.csv is the report's
    assert found.public.source == str(tmp_path / "public.npz")
    (run / "t.csv").symlink_to(was)
    with pytest.raises(FedkinError, match="link"):
        with_data(parse({"data": {"name": str(tmp_path / "t.csv")}})[0], run)
