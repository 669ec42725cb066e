"""A run is looked at while it goes on: what is told of it, and its states, are of one commit."""

import shutil
from pathlib import Path

import pytest

from fedkin.core.errors import FedkinError
from fedkin.core.tree import named_leaves
from fedkin.engine import store
from fedkin.engine.store import StoreError
from fedkin.experiment.run import run
from fedkin.export.card import card_of
from fedkin.export.opened_run import Opened
from fedkin.newcomers.join import join
from fedkin.newcomers.local import Learned, described, joined
from fedkin.report.records import opened as records
from fedkin.runtime.replay import Runtime
from fedkin.setup.loaded_run import load
from tests.engine.small import small

SETTINGS = {"run__holdout_clients": 0.2, "run__clients": 6, "run__participation": 1.0}


@pytest.fixture(scope="module")
def stages(tmp_path_factory):
    """number → the run's folder after that round."""
    home = tmp_path_factory.mktemp("stages")

    def keep(record):
        shutil.copytree(home / "run", home / str(record.round))

    run(small("pfedme", **SETTINGS), home / "run", progress=keep)
    return {number: home / str(number) for number in (1, 2)}


@pytest.fixture
def going(stages, tmp_path):
    """A run after round 1."""
    return Path(shutil.copytree(stages[1], tmp_path / "run"))


def goes_on(folder: Path, later: Path) -> None:
    """New files, the commit, superseded files away."""
    old = set((folder / "checkpoint").iterdir())
    shutil.copytree(later / "checkpoint", folder / "checkpoint", dirs_exist_ok=True)
    shutil.copy(later / "run.db", folder / "new.db")
    (folder / "new.db").replace(folder / "run.db")
    for path in old:
        if not (later / "checkpoint" / path.name).exists():
            path.unlink()


def server(found) -> list[bytes]:
    return [
        leaf.numpy().tobytes()
        for _, leaf in named_leaves(found.coordinator.state)
        if hasattr(leaf, "numpy")
    ]


def test_a_commit_while_states_are_copied(stages, going, monkeypatch):
    real, calls = store.read_file, []

    def read_file(source, *most, **links):
        calls.append(source)
        if len(calls) == 3:
            monkeypatch.setattr(store, "read_file", real)
            goes_on(going, stages[2])
        return real(source, *most, **links)

    monkeypatch.setattr(store, "read_file", read_file)
    found = load(going)
    assert found.at.round == 2
    expected = load(stages[2])
    assert server(found) == server(expected) != server(load(stages[1]))
    for client in found.parts.infos:
        views = [one.coordinator.views(client, 4)["personal"] for one in (found, expected)]
        assert all(a.equal(b) for (_, a), (_, b) in zip(*map(named_leaves, views), strict=True))


def test_a_file_that_is_gone_for_good(going):
    next((going / "checkpoint").glob("2.*")).unlink()
    found = load(going)
    found.coordinator.views(0, 2)
    with pytest.raises(StoreError, match=rf"{going}/checkpoint/2\.\d\.safetensors is gone"):
        found.coordinator.views(2, 2)


def test_damage_is_told_of_the_runs_file_not_of_its_copy(going):
    path = next((going / "checkpoint").glob("server.*"))
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(FedkinError, match=f"^{path} is damaged"):
        load(going)


def test_the_card_is_of_the_round_of_its_model(stages, going):
    opened = Opened(going)
    goes_on(going, stages[2])
    card = card_of(opened, opened.member(0))
    assert (card["rounds"], card["finished"]) == (1, False)
    assert "after round 1 of 3" in opened.unfinished
    query = (
        "SELECT loss FROM metrics WHERE round = ? AND client = 0 AND split = 'val' AND "
        "view = 'personal'"
    )
    with records(stages[2]) as record:
        first, second = (record.rows(query, number)[0][0] for number in (1, 2))
    assert card["scores"]["personal"]["val"]["loss"] == first != second
    assert (
        card["communicated"] == card_of(whole := Opened(stages[1]), whole.member(0))["communicated"]
    )


def test_a_newcomer_joins_the_round_that_is_told(stages, going, tmp_path, monkeypatch):
    def loaded(folder, **allowed):
        found = load(folder)
        goes_on(going, stages[2])
        return found

    coordinator, parts, at = load(stages[1])
    name = parts.held_out.names[0]
    own = parts.held_out.only([0])
    monkeypatch.setattr("fedkin.newcomers.join.load", loaded)
    content = join(going, client=name, out=tmp_path / "out")
    assert content["after_round"] == at.round == 1
    expected = described(
        joined(Learned(parts, coordinator.state, 1, Runtime("trace")), own, None)[0], own
    )
    assert content["scores"] == expected["scores"]
