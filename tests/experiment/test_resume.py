"""What must be as it was when a run goes on."""

import sqlite3

import pytest

from fedkin.core.errors import FedkinError
from fedkin.experiment.resume import check_unchanged, resume
from fedkin.experiment.run import run
from fedkin.experiment.training import Interrupted
from fedkin.methods.fedavg import fedavg
from fedkin.runs import checkpoint
from fedkin.runs.spec import parse
from tests.awkward import record
from tests.engine.small import content, small
from tests.experiment.registered import registered

RECORDED = parse(content("ditto"))[0].model_dump(mode="json")


def changed(**settings):
    return parse(content("ditto", **settings))[0]


def test_the_engine_may_change(tmp_path) -> None:
    assert check_unchanged(tmp_path, changed(engine__name="processes"), RECORDED) is None
    with pytest.raises(FedkinError, match=r"experiment\.toml: train\.lr is not what this run"):
        check_unchanged(tmp_path, changed(train__lr=0.3), RECORDED)


@pytest.mark.parametrize(
    ("setting", "key"),
    [
        ({"run__rounds": 9}, "run.rounds"),
        ({"method__lam": 0.9}, "method.lam"),
        ({"split__alpha": 0.7}, "split.alpha"),
        ({"model__hidden": 3, "model__name": "dnn"}, "model.name"),
    ],
)
def test_the_first_key_that_changed_is_named(setting, key, tmp_path) -> None:
    with pytest.raises(FedkinError, match=f"{key} is not what .*: put it back, or start another"):
        check_unchanged(tmp_path, changed(**setting), RECORDED)


def test_transforms_must_be_those_of_before(tmp_path) -> None:
    other = parse({**content("ditto"), "transforms": [{"name": "median"}]})[0]
    with pytest.raises(FedkinError, match="transforms are not what this run began with: put them"):
        check_unchanged(tmp_path, other, RECORDED)
    told = other.model_dump(mode="json")
    assert check_unchanged(tmp_path, other, told) is None


@pytest.mark.parametrize(
    ("section", "key"),
    [
        ({"privacy": {"noise": 1.0, "clip": 1.0, "delta": 1e-5}}, "privacy.noise"),
        ({"audit": {"canaries": 4}}, "audit.canaries"),
    ],
)
def test_a_section_that_came_or_went_is_a_change(section, key, tmp_path) -> None:
    """A dump leaves out what nobody asked for: noise must not end with its section."""
    with_it = parse({**content("ditto"), **section})[0]
    told = with_it.model_dump(mode="json")
    assert check_unchanged(tmp_path, with_it, told) is None
    for spec, recorded in ((changed(), told), (with_it, RECORDED)):
        with pytest.raises(FedkinError, match=f"{key} is not what this run began with"):
            check_unchanged(tmp_path, spec, recorded)


def test_what_an_old_run_did_not_know_has_its_default(tmp_path) -> None:
    old = {**RECORDED, "run": {k: v for k, v in RECORDED["run"].items() if k != "patience"}}
    assert check_unchanged(tmp_path, changed(), old) is None
    with pytest.raises(FedkinError, match=r"run\.patience is not what this run began with"):
        check_unchanged(tmp_path, changed(run__patience=2), old)


def test_a_finished_run_is_of_its_own_method_value(tmp_path) -> None:
    folder = run(small("fedavg"), tmp_path / "run", method=fedavg(lr=0.05)._replace(name="mine"))
    for other in (fedavg(lr=0.06)._replace(name="mine"), fedavg(lr=0.05)._replace(name="theirs")):
        with pytest.raises(FedkinError, match="the method that this run began with"):
            resume(folder, method=other)
    assert resume(folder, method=fedavg(lr=0.05)._replace(name="mine")) == folder


def test_a_finished_run_is_left_as_it_is(tmp_path) -> None:
    folder = record(tmp_path / "run")
    before = (folder / "run.db").read_bytes()
    assert resume(folder) == folder
    assert (folder / "run.db").read_bytes() == before


def test_a_run_that_another_process_began_meanwhile_is_not_begun_again(
    tmp_path, monkeypatch
) -> None:
    folder, alone = run(small(), tmp_path / "run"), checkpoint.alone
    (folder / "run.db").rename(tmp_path / "run.db")
    (folder / "checkpoint").rename(tmp_path / "checkpoint")  # killed before its record was there

    def late(run_folder):
        (tmp_path / "run.db").rename(folder / "run.db")  # another process had the lock until now
        (tmp_path / "checkpoint").rename(folder / "checkpoint")
        return alone(run_folder)

    monkeypatch.setattr(checkpoint, "alone", late)
    before = (tmp_path / "run.db").read_bytes()
    with pytest.raises(FedkinError, match="another process began this run just now: resume it aga"):
        resume(folder)
    assert (folder / "run.db").read_bytes() == before


def test_what_is_no_run_is_refused_before_anything_is_written(tmp_path) -> None:
    with pytest.raises(FedkinError, match=str(tmp_path)):
        resume(tmp_path)
    assert list(tmp_path.iterdir()) == []
    folder = record(tmp_path / "run", deployment="superlink")
    with sqlite3.connect(folder / "run.db") as database:
        database.execute("UPDATE facts SET value = 'false' WHERE name = 'finished'")
    with pytest.raises(FedkinError, match="is a run of a deployment: continue it with"):
        resume(folder)


@pytest.mark.usefixtures("own_modules")
def test_a_method_whose_file_changed_is_told(tmp_path, monkeypatch) -> None:
    file, folder = registered(tmp_path, "half44"), tmp_path / "run"
    monkeypatch.syspath_prepend(tmp_path)
    said: list[str] = []
    monkeypatch.setattr("fedkin.experiment.resume.note", said.append)
    sections = {"method": {"name": "half44"}, "model": {"name": "mlr"}}
    small = {"run": {"clients": 2, "rounds": 5}, "engine": {"name": "inprocess"}}

    def stop(record) -> None:
        if record.round:
            raise Interrupted("stopped")

    with pytest.raises(Interrupted):
        run(parse({**sections, **small})[0], folder, progress=stop)
    with pytest.raises(Interrupted):
        resume(folder, progress=stop)
    assert said == []
    file.write_text(file.read_text().replace("lr * near", "lr"))
    with pytest.raises(Interrupted):
        resume(folder, progress=stop)
    (note,) = said
    assert note.startswith(f"{folder}: the file of half44 is not what this run began with")
