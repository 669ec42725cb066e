"""Where the files of an exported model go."""

from pathlib import Path

import pytest

from fedkin.core.errors import FedkinError
from fedkin.export.opened_run import Member
from fedkin.export.output_paths import place_of


@pytest.mark.parametrize(
    ("name", "number", "folder"),
    [
        ("ward-3.b", 4, "ward-3.b"),
        ("a b", 4, "a_b-4"),
        ("..", 4, "4"),
        ("../x", None, "x-joined"),
        ("?", None, "joined"),
        ("Zürich", 1, "Zürich"),
        ("-rf", 4, "rf-4"),  # no option of a command that gets the folder
        ("病" * 400, 4, "病" * 60 + "-4"),
    ],
)
def test_a_clients_name_as_a_folders(name: str, number: int | None, folder: str) -> None:
    found = place_of(Path("run"), Path("to"), Member(name, number), "pt2")
    assert found == Path("to") / folder
    assert place_of(Path("run"), None, Member(name, number), "pt2") == Path("run/export") / folder
    other = place_of(Path("run"), None, Member(name, number), "pt2", "global")
    assert other == Path("run/export") / folder / "global"


@pytest.mark.parametrize("out", ["run/checkpoint", "run/checkpoint/a", "link"])
def test_a_runs_states_are_no_place(out: str, tmp_path: Path) -> None:
    """A resumed run removes what stands there and is no state of its own."""
    (tmp_path / "run" / "checkpoint").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "run" / "checkpoint")
    (tmp_path / "run" / "run.db").touch()
    with pytest.raises(FedkinError, match=r"among the states of .*run, where"):
        place_of(tmp_path / "run", tmp_path / out, Member("x", 0), "pt2")
    with pytest.raises(FedkinError, match=r"among the states of .*run, where"):
        place_of(tmp_path / "run", tmp_path / "run", Member("checkpoint", 0), "pt2")
    assert place_of(tmp_path / "run", tmp_path / "run", Member("x", 0), "pt2").name == "x"


def test_a_link_in_the_run_is_no_place(tmp_path: Path) -> None:
    (tmp_path / "run" / "export" / "a").mkdir(parents=True)
    (tmp_path / "run" / "export" / "a" / "card.json").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FedkinError):
        place_of(tmp_path / "run", None, Member("a", 0), "pt2")
