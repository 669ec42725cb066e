"""Where workers call, however long the path of the temporary folder is."""

import os
import tempfile
from multiprocessing.connection import Listener
from pathlib import Path

import pytest

from fedkin.engine.transports.calling import LONGEST, calling_address


def test_a_short_temporary_folder_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/tmp")
    with calling_address() as where:
        assert where is None


def test_a_long_temporary_folder_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system refuses a socket there; the one used instead is private, and goes."""
    long = tmp_path / ("deep" * 25)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    with pytest.raises(OSError, match="too long"):
        Listener(str(long / "socket"), family="AF_UNIX")
    with calling_address() as where:
        assert where is not None
        assert len(os.fsencode(where)) <= LONGEST
        folder = Path(where).parent
        assert folder.stat().st_mode & 0o777 == 0o700
        with Listener(where) as listener:
            assert listener.address == where
    assert not folder.exists()
