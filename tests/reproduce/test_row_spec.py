"""A row of a preset as a specification, and as a command line."""

import pytest

from fedkin.core.errors import FedkinError
from fedkin.reproduce.preset import preset, published
from fedkin.reproduce.row_spec import check, command, portable, spec_of

ROW = preset("ppfl-figure-8", "small").rows[0]


def test_changes_go_before_the_row_and_the_seed_before_all() -> None:
    plain, other = spec_of(ROW, 0, {}), spec_of(ROW, 3, {"run.rounds": 7, "run.seed": 9})
    assert (other.run.rounds, other.run.seed) == (7, 3)
    assert other.data == plain.data
    with pytest.raises(FedkinError, match=f"^{ROW.name}: unknown key 'run.roundz'"):
        spec_of(ROW, 0, {"run.roundz": 7})


def test_changes_that_no_row_can_have_are_told() -> None:
    odd = ROW._replace(runner="elsewhere")
    assert check([ROW], {"run.rounds": 7}) is None
    for rows in ([ROW, odd], [odd, ROW]):  # a row that is no run has no keys
        with pytest.raises(FedkinError, match=r"unknown key 'run\.roundz'"):
            check(rows, {"run.roundz": 7})
    assert check([odd], {"data.dir": "/sets"}) is None
    with pytest.raises(
        FedkinError, match=r"--set run\.rounds: these rows are computed in closed fo"
    ):
        check([odd], {"run.rounds": 7})
    with pytest.raises(FedkinError, match=r"unknown key 'run\.roundz'"):
        check([ROW, ROW], {"run.roundz": 7})
    with pytest.raises(FedkinError, match="the seeds of a preset are 0, 1, …: --seeds says how ma"):
        check([ROW], {"run.seed": 1})


def test_where_this_machine_has_its_data_is_nobodys_business() -> None:
    assert portable({"data.dir": "/sets", "run.rounds": 7}) == {"run.rounds": 7}


def test_a_command_means_what_the_row_does() -> None:
    row = ROW._replace(
        spec="ppfl",
        changes={
            "method": {"name": "ditto", "lam": 0.5},
            "train.lr": 0.1,
            "model.map": {"1": "dnn", "2": "a b"},
            "data.name": "it's",
        },
    )
    told = command(row, 2, {"train.lr": 0.3})
    assert told == (
        "fedkin run examples/papers/ppfl.toml --method ditto --set method.lam=0.5 "
        "--set train.lr=0.3 "
        """--set model.map='{ 1 = "dnn", 2 = "a b" }' """
        """--set data.name='it'"'"'s' --set run.seed=2"""
    )
    assert "run.seed" not in command(row)
    other = command(ROW._replace(runner="figure", name="a b"))
    assert other == "fedkin reproduce comet-figure-2 --rows 'a b'"


def test_persfl_rows_of_later_tables_have_the_rounds_of_table_7() -> None:
    wanted = {
        (line["dataset"], line["split"]): int(line["rounds"])
        for line in published("persfl_tables2_3_accuracy")
        if line["method"] == "persfl" and line["rounds"]
    }
    for name in ("persfl-table-4", "persfl-table-5", "persfl-table-6", "persfl-figures-3-8"):
        for row in preset(name, "full").rows:
            found = spec_of(row, 0, {}).run.rounds
            assert found == wanted[row.options["data"], row.options["split"]], row.name
