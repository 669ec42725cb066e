"""The secret of a run: kept for its owner alone, and asked for again."""

from pathlib import Path

import pytest

from fedkin.core.errors import FedkinError
from fedkin.runs.directory import SECRET
from fedkin.runs.secret_file import new_secret, secret_of


def test_a_run_that_goes_on_has_the_same_and_another_run_another(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    made = new_secret(tmp_path / "one")
    assert secret_of(tmp_path / "one") == made
    assert not made.seeded
    assert made.key != new_secret(tmp_path / "other").key
    assert (tmp_path / "one" / SECRET).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda path: path.unlink(), "is gone"),
        (lambda path: path.chmod(0o644), "can be read by others"),
        (lambda path: path.write_bytes(b"short"), "is damaged"),
    ],
)
def test_what_cannot_be_believed_is_refused(tmp_path: Path, spoil, said: str) -> None:
    new_secret(tmp_path)
    spoil(tmp_path / SECRET)
    with pytest.raises(FedkinError, match=said):
        secret_of(tmp_path)
