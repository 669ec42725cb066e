"""The README of a deployment folder."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from fedkin.flower.operator.readme import operator_readme


def deployment(**changed):
    told = {
        "clients": ("north", "south", "east"),
        "address": "fl.example.org:9443",
        "insecure": False,
        "own_data": True,
        "node_port": 1,
    }
    return SimpleNamespace(**{**told, **changed})


def test_ports_are_those_of_the_deployment() -> None:
    text = operator_readme(Path("site"), deployment(node_port=9500))
    assert "Clients: north, south, east. SuperLink: fl.example.org:9443." in text
    assert "| 9443 (SuperLink) | this one |" in text
    assert "| 9500 … 9502 (runtime of each node) |" in text
    assert "It shares port 9443 with" in text
    assert "`fedkin deploy run site --resume`" in text
    assert "{" not in text


@pytest.mark.parametrize(
    ("changed", "said", "unsaid"),
    [
        ({}, "TLS and node authentication are on.", "Without TLS"),
        ({"insecure": True}, "Without TLS and without authentication: this machine", "are on."),
        ({}, "Put its data there (`data` in `node.toml`", "Its data are its part"),
        ({"own_data": False}, "Its data are its part of the experiment's data set", "Put its da"),
    ],
)
def test_what_holds_is_said_and_nothing_else(changed, said, unsaid) -> None:
    text = operator_readme(Path("site"), deployment(**changed))
    assert said in text
    assert unsaid not in text


def test_without_tls_no_key_is_spoken_of_as_if_it_were_there() -> None:
    text = operator_readme(Path("site"), deployment(insecure=True))
    for absent in ("private key", "node.key", "ca.crt", "certs/", "keys/", "clients.pub"):
        assert absent not in text
    assert "there are no keys" in text
    assert "{" not in text
