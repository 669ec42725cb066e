"""Files of states beside the record."""

import errno
import os
import re

import pytest

from fedkin.core.errors import Halted
from fedkin.runs import checkpoint
from fedkin.runs.database import create
from tests.runs.database_examples import record, recorder


@pytest.fixture
def database(tmp_path):
    made = create(tmp_path / "run.db", {"seed": 3}, [(0, "zero", "mlr", 1, 2, 3, "[1]")])
    yield made
    made.close()


def test_leftovers_are_removed_and_committed_files_are_not(tmp_path, database):
    kept = recorder(tmp_path, database)
    kept.add(record(1))
    folder = tmp_path / "checkpoint"
    (folder / "0.2.safetensors").write_text("of a round that was not committed")
    (folder / "0.2.safetensors.77.part").write_text("half")
    checkpoint.tidy(tmp_path, checkpoint.committed(tmp_path, database))
    assert {path.name for path in folder.iterdir()} == {"server.1.safetensors", "0.1.safetensors"}


def test_a_run_is_in_training_while_a_process_writes_it(tmp_path):
    assert not checkpoint.in_training(tmp_path)
    assert list(tmp_path.iterdir()) == []  # who asks writes nothing
    with checkpoint.alone(tmp_path):
        assert checkpoint.in_training(tmp_path)
    assert not checkpoint.in_training(tmp_path)
    with checkpoint.alone(tmp_path):  # and holds nothing
        pass


def test_a_run_that_cannot_be_locked_says_why_in_words(tmp_path, monkeypatch):
    def refused(lock):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), lock.lock_file)

    monkeypatch.setattr(checkpoint.FileLock, "acquire", refused)
    told = re.escape(f"{tmp_path} cannot be written: {os.strerror(errno.EROFS)}")
    with pytest.raises(Halted, match=f"^{told}$"), checkpoint.alone(tmp_path):
        pass
