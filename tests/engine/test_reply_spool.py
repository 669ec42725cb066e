"""Messages of a round that wait on disk."""

import errno
import gc
import json

import pytest
import torch

from fedkin.core.aggregation import Reply
from fedkin.engine.codec import encode
from fedkin.engine.reply_spool import Spool
from fedkin.engine.store import StoreError
from fedkin.experiment.run import run
from fedkin.runs.database import read_only
from tests.engine.small import small


def test_messages_come_back_in_any_order_and_leave_nothing_behind(tmp_path):
    trees = [{"parameters": {"w": torch.full((k + 1,), float(k))}} for k in range(3)]
    spool = Spool(tmp_path)
    for k in (2, 0, 1):
        spool.put(k, encode(trees[k]), 1.0 + k)
    assert list(spool) == [0, 1, 2]
    assert len(spool) == 3
    for k in (2, 0, 1, 2):
        assert torch.equal(spool[k].message["parameters"]["w"], trees[k]["parameters"]["w"])
        assert spool[k].weight == 1.0 + k
        assert isinstance(spool[k], Reply)
    assert not list(tmp_path.iterdir())
    file = spool._file
    del spool
    gc.collect()
    assert file.closed


@pytest.mark.rotating
@pytest.mark.parametrize("method", ["fedavg", "cgpfl", "comet", "ppfl", "hypcluster"])
def test_a_run_with_states_on_disk_keeps_its_messages_there_and_has_the_same_bits(
    method, tmp_path, monkeypatch
):
    prints, kept = [], []
    put = Spool.put

    def counted(self, *arguments):
        kept.append(arguments[0])
        put(self, *arguments)

    monkeypatch.setattr(Spool, "put", counted)
    for state in ("memory", "disk"):
        assert not kept  # in memory nothing is put aside
        spec = small(method, engine__name="inprocess", engine__state=state)
        with read_only(run(spec, tmp_path / state)) as database:
            prints.append(database.facts()["fingerprint"])
            took_part = [
                client
                for (who,) in database.rows(
                    "SELECT participants FROM rounds WHERE phase = 'round' ORDER BY round"
                )
                for client in json.loads(who)
            ]
    for client in set(took_part):  # at its host, or at the coordinator; setup's are more
        assert kept.count(client) >= took_part.count(client)
    assert prints[0] == prints[1]


def test_a_full_disk_ends_the_run_in_one_sentence(tmp_path):
    spool = Spool(tmp_path)
    spool._file.close()

    class Full:
        def seek(self, at): ...
        def write(self, message):
            raise OSError(errno.ENOSPC, "No space left on device")

    spool._file = Full()
    with pytest.raises(StoreError, match="cannot be written: No space left on device"):
        spool.put(0, b"x", 1.0)


def test_so_does_a_disk_that_cannot_be_read(tmp_path):
    spool = Spool(tmp_path)
    spool.put(0, encode({}), 1.0)
    spool._file.close()

    class Broken:
        def seek(self, at): ...
        def read(self, size):
            raise OSError(errno.EIO, "Input/output error")

    spool._file = Broken()
    with pytest.raises(StoreError, match="cannot be read: Input/output error"):
        spool[0]
