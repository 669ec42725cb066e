"""Options that several commands take."""

from pathlib import Path

import pytest

from fedkin.cli.options import check_distinct_outputs, path_as_text
from fedkin.core.errors import FedkinError


def test_a_path_is_text_and_none_stays_none() -> None:
    assert path_as_text(Path("runs") / "first") == str(Path("runs/first"))
    assert path_as_text(None) is None


def test_two_options_do_not_write_one_file() -> None:
    check_distinct_outputs({"--markdown": Path("a.md"), "--latex": None, "--html": Path("b.md")})
    with pytest.raises(FedkinError, match=r"^--markdown and --html both name a\.md: give each"):
        check_distinct_outputs({"--markdown": Path("a.md"), "--html": Path("./a.md")})
