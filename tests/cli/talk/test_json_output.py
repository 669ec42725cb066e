"""What ``--json`` prints."""

import json
from pathlib import Path

import numpy as np
import pytest

from fedkin.cli.talk.json_output import print_json


def printed(value, capsys):
    print_json(value)
    out, err = capsys.readouterr()
    assert err == ""
    return out


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ({1: (np.float32(0.5), np.int64(3))}, {"1": [0.5, 3]}),
        ([float("nan"), float("inf"), -float("inf"), np.float64("nan")], [None] * 4),
        ({"a": {"b": [True, None, "ü"]}}, {"a": {"b": [True, None, "ü"]}}),
    ],
)
def test_numbers_of_every_kind_are_json(value, plain, capsys) -> None:
    assert json.loads(printed(value, capsys)) == plain


def test_letters_stay_and_no_terminal_is_commanded(capsys) -> None:
    out = printed({"name": "Zürich\x1b[2J\x9b"}, capsys)
    assert "Zürich" in out
    assert "\x1b" not in out
    assert "\x9b" not in out
    assert json.loads(out)["name"] == "Zürich\x1b[2J\x9b"  # the value is what it was


def test_what_is_no_json_is_a_bug(capsys) -> None:
    with pytest.raises(TypeError):
        print_json({"path": Path("a")})
    assert capsys.readouterr().out == ""
