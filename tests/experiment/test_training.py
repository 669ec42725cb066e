"""Rounds from the first that is not committed to the last one."""

import pytest

from fedkin.core.errors import FedkinError
from fedkin.experiment.run import run
from fedkin.experiment.training import Engine, Interrupted, begin, check_engine, train
from fedkin.methods import make
from fedkin.runs.database import open_run
from fedkin.setup.build import assemble
from tests.engine.small import small


def test_a_method_as_a_value_is_known_to_this_process_alone() -> None:
    method = make("fedavg", {}, {"lr": 0.1})
    assert check_engine(small(), method) is None
    assert check_engine(small(engine__name="processes"), None) is None
    with pytest.raises(FedkinError, match="runs with engine inprocess: name it as package"):
        check_engine(small(engine__name="processes"), method)


def stopping(*_):
    raise KeyboardInterrupt


def test_ctrl_c_while_workers_start_says_how_to_go_on(tmp_path) -> None:
    parts = assemble(small(), None)
    engine = Engine(assemble, stopping, {"deployment": "yes"})
    with pytest.raises(Interrupted, match=f"committed up to round 0: fedkin resume {tmp_path}$"):
        begin(parts, tmp_path, None, engine)
    database = open_run(tmp_path, write=True)
    facts = database.facts()
    assert (facts["deployment"], facts["finished"]) == ("yes", False)  # what the engine says
    assert len(database.rows("SELECT * FROM clients")) == 6
    with pytest.raises(Interrupted, match="stopped at once"):
        train(parts, tmp_path, database, None, engine)
    database.close()


def test_a_secret_is_made_for_a_run_with_noise_alone(tmp_path) -> None:
    engine = Engine(assemble, stopping)
    private = {"privacy__noise": 1.0, "privacy__clip": 0.5, "privacy__delta": 1e-5}
    for name, settings, kept in (
        ("plain", {}, False),
        ("noised", private, True),
        ("seeded", {**private, "privacy__seeded": True}, False),
    ):
        folder = tmp_path / name
        folder.mkdir()
        with pytest.raises(Interrupted):
            begin(assemble(small(**settings), None), folder, None, engine)
        assert (folder / "secret").exists() == kept


def test_a_run_that_diverges_says_what_may_be_why(tmp_path, caplog) -> None:
    with pytest.raises(FedkinError, match="training diverged"):
        run(small(train__lr=1e30, run__rounds=2, model__name="dnn"), tmp_path / "run")
    assert "note: train.lr = 1e+30 is far too large" in caplog.text
