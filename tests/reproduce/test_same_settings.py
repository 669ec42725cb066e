"""Which runs are of the same settings."""

import json
from pathlib import Path

import pytest

from fedkin.core.errors import FedkinError
from fedkin.reproduce.preset import preset
from fedkin.reproduce.row_spec import spec_of
from fedkin.reproduce.same_settings import ASKED, check_same, digest_of, settings_of
from fedkin.runs.directory import SPEC
from fedkin.runs.spec import parse


@pytest.mark.parametrize("text", ["[" * 100_000, "[]", "3"], ids=["deep", "list", "number"])
def test_settings_that_are_damaged_are_those_of_the_runs_own_file(
    text: str, tmp_path: Path
) -> None:
    spec = parse({"method": {"name": "local"}, "data": {"name": "digits"}})[0]
    (tmp_path / SPEC).write_text('[method]\nname = "local"\n[data]\nname = "digits"\n')
    (tmp_path / ASKED).write_text(text)
    check_same(tmp_path, spec)
    other = spec.model_copy(update={"run": spec.run.model_copy(update={"rounds": 77})})
    with pytest.raises(FedkinError, match=r"another setting \(run\.rounds\)"):
        check_same(tmp_path, other)


def test_the_digest_of_a_row_is_what_it_was_when_rows_were_first_kept() -> None:
    """Rows that are committed would count no more. The number is of commit 100433c4."""
    rows = {row.name: row for row in preset("ppfl-table-1", "full").rows}
    row = rows["ppfl-t1-mnist-fedavg"]
    assert digest_of(spec_of(row, 0, {"engine.name": "inprocess"})) == "2ed2fbd3aef682d6"


def test_when_records_are_written_is_no_setting(tmp_path: Path) -> None:
    seldom, often = (
        parse({"method": {"name": "local"}, "run": {"commit_every": seconds}})[0]
        for seconds in (1e9, 0)
    )
    assert digest_of(seldom) == digest_of(often)
    older = {**settings_of(often), "run.commit_every": 5.0}
    (tmp_path / ASKED).write_text(json.dumps(older))
    check_same(tmp_path, often)
