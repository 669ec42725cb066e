"""``fedkin methods``: every method with what it takes and needs."""

import io
import sys

import pytest
from rich.console import Console

from fedkin.cli.listing import methods as listing
from fedkin.cli.listing.methods import methods, named, show_methods
from fedkin.core.errors import FedkinError
from fedkin.methods import Unloadable, registry


@pytest.fixture(autouse=True)
def made_anew(monkeypatch):
    monkeypatch.setattr(listing, "kept", lambda name, make: make())


def test_hyper_parameters_with_and_without_defaults() -> None:
    found = {one["name"]: one for one in methods()}
    assert list(found) == sorted(registry())
    assert all(one["required"] == [] for one in found.values())
    assert "lr" not in found["ditto"]["hyper_parameters"]  # [train] says it
    assert found["ditto"]["hyper_parameters"]["lam"] is not None
    assert found["fedmd"]["needs"] == {
        "one_architecture": False,
        "public": "labeled",
        "full_participation": True,
        "classes": True,
        "validation": False,
        "head": False,
    }


def test_a_name_is_found_as_it_is_written_by_others() -> None:
    (one,) = named("ditto")
    aliased = next(each for each in methods() if each["aliases"])
    assert named(aliased["aliases"][0].upper()) == [aliased]
    assert named("Fed-Avg")[0]["name"] == "fedavg"
    assert one["name"] == "ditto"
    with pytest.raises(FedkinError, match="unknown method 'dito': did you mean 'ditto'"):
        named("dito")


def test_a_method_of_ones_own_is_named_by_its_file_too(tmp_path, monkeypatch) -> None:
    text = "from fedkin.core.method import Method\n\ndef slow(*, lr: float) -> Method: ...\n"
    (tmp_path / "cp.py").write_text(text)  # cp is short for fedcp
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    (one,) = named("cp.py:slow")
    assert one["name"] == "cp:slow"
    del sys.modules["cp"]


def test_a_file_beside_it_is_offered_where_no_method_is_called_so(tmp_path, monkeypatch) -> None:
    (tmp_path / "blend.py").write_text("def mixed(): pass\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FedkinError) as error:
        named("blend")
    assert str(error.value) == (
        "unknown method 'blend': write blend:mixed for the function of your file blend.py"
    )


def test_a_method_that_cannot_be_loaded_says_why(monkeypatch) -> None:
    broken = Unloadable("mine cannot be imported: no licence")
    monkeypatch.setattr("fedkin.methods.registry", lambda: {"mine": broken})
    (one,) = methods()
    assert "no licence" in one["summary"]
    assert one["needs"] is None


def test_what_has_no_default_is_required(monkeypatch) -> None:
    def mine(*, lr: float, groups: int, near: float = 0.5):
        """A method of somebody's."""

    monkeypatch.setattr("fedkin.methods.registry", lambda: {"mine": mine})
    (one,) = methods()
    assert (one["required"], one["hyper_parameters"]) == (["groups"], {"near": 0.5})
    assert one["needs"] is None  # nobody can make it with its defaults
    out = io.StringIO()
    show_methods(Console(file=out, width=300), [one])
    assert "its needs depend on its hyper-parameters" in out.getvalue()


def test_a_paragraph_a_method() -> None:
    out = io.StringIO()
    chosen = [one for one in methods() if one["name"] in ("fedmd", "knn_per")]
    show_methods(Console(file=out, width=300), chosen)
    text = out.getvalue()
    assert (
        "any architectures · labeled public set · every client in every round · "
        "classification only" in text
    )
    assert "validation samples at every client · a model with a head" in text
