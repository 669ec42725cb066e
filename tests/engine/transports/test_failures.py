"""What went wrong at a host is of the same kind at the coordinator."""

import json

import pytest

from fedkin.core.errors import FedkinError, Halted
from fedkin.engine.store import StoreError
from fedkin.engine.transports.failures import error_from, error_header
from fedkin.engine.transports.ray import Actor


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (FedkinError("no such key"), FedkinError),
        (StoreError("no room"), Halted),
        (Halted("no room"), Halted),
        (OSError("no room"), OSError),
    ],
)
def test_an_error_keeps_its_kind(error: FedkinError | OSError, kind: type[Exception]) -> None:
    again = error_from(json.loads(json.dumps(error_header(error))))
    assert type(again) is kind
    assert str(again) == str(error)


def test_an_error_keeps_its_code() -> None:
    """The sentence alone belongs to the engine's family, where it is raised anew."""
    error = FedkinError("table.csv: the file is empty")
    error.raised_in = "fedkin.data.frames.csv_file"
    again = error_from(json.loads(json.dumps(error_header(error))))
    assert isinstance(again, FedkinError)
    assert again.code == error.code != FedkinError(str(error)).code


def test_an_actor_whose_disk_is_full_says_that_the_work_could_not_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: object) -> None:
        raise StoreError("no room")

    monkeypatch.setitem(Actor.call.__globals__["CALLS"], "save", full)
    assert isinstance(error_from(Actor().call("save", 1)), Halted)
