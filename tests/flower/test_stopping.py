"""Word from a terminal that what is being done is to end."""

import pytest

from fedkin.experiment.training import Interrupted
from fedkin.flower.stopping import heed


def test_what_is_to_end_ends_once(tmp_path):
    stop = tmp_path / "stop"
    heed(None, "why")
    heed(stop, "why")
    stop.touch()
    with pytest.raises(Interrupted, match=r"^why$"):
        heed(stop, "why")
    heed(stop, "why")
