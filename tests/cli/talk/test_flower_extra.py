"""What a command of deployments says where it cannot work."""

import importlib.util

import pytest

from fedkin.cli.talk import flower_extra
from fedkin.core.errors import FedkinError


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(FedkinError, match="deployments need the extra flower: in fedkin's"):
        flower_extra.need_extra()
    monkeypatch.setattr(flower_extra, "POSIX", False)
    with pytest.raises(FedkinError, match="on Windows, use WSL"):
        flower_extra.need_extra()
