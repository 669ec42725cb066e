"""Populations as workers read them: other row numbers, the same samples for every client in the
same order.
"""

import errno
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from fedkin.data import contiguous
from fedkin.data.contiguous import save_side_by_side
from fedkin.data.population import SPLITS, Population
from tests.data.test_population import make


def given() -> Population:
    """Samples that are nobody's among them, and facts of rows and of clients."""
    people = make("dirichlet", 6)
    left = people.train[2][::2]
    clients = people.clients
    return replace(
        people,
        train=(*people.train[:2], left, *people.train[3:]),
        truth={"row": np.arange(len(people.x)), "client": np.arange(clients), "one": np.array(3.0)},
    )


@pytest.mark.parametrize("block", [7, 4096])
def test_everybody_has_the_same_samples(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contiguous, "BLOCK", block)
    before = given()
    save_side_by_side(before, tmp_path)
    after = Population.load(tmp_path)
    assert after.x.shape == before.x.shape
    for split in SPLITS:
        for client in range(before.clients):
            for a, b in zip(after.part(client, split), before.part(client, split), strict=True):
                assert torch.equal(a, b)
            rows, old = after.rows(split)[client], before.rows(split)[client]
            assert np.array_equal(
                rows, np.arange(rows[0], rows[0] + len(rows)) if len(rows) else rows
            )
            assert np.array_equal(after.truth["row"][rows], before.truth["row"][old])
    assert np.array_equal(np.sort(after.truth["row"]), before.truth["row"])
    assert np.array_equal(after.truth["client"], before.truth["client"])


def test_rows_that_several_have(tmp_path: Path) -> None:
    before = given()
    before = replace(before, test=before.val)
    save_side_by_side(before, tmp_path)
    after = Population.load(tmp_path)
    assert len(after.x) == len(before.x)
    for client in range(before.clients):
        assert torch.equal(after.part(client, "test")[0], before.part(client, "val")[0])


def test_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    (tmp_path / "x.npy").symlink_to("/dev/full")
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        save_side_by_side(given(), tmp_path)
