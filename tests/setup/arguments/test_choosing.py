"""Other models than a file's: nothing stays that was said of its own."""

from pathlib import Path

import pytest

from fedkin import Experiment
from fedkin.setup.arguments.options import specification

OF_A_MAP = """
[model]
map = { a = "mlr", b = "dnn" }
rule = "random"
shares = [0.3, 0.7]
"""
BY_COLUMN = '[model]\nmap = { a = "mlr" }\nrule = "column"\ncolumn = "size"\n'


@pytest.mark.parametrize(
    ("text", "typed", "left"),
    [
        (OF_A_MAP, "mlr", {"name": "mlr"}),
        (OF_A_MAP, "dnn,glm", {"map": {"dnn": "dnn", "glm": "glm"}, "rule": "random"}),
        (BY_COLUMN, "dnn,glm", {"map": {"dnn": "dnn", "glm": "glm"}}),
        ("[model]\nhidden = 16\n", "dnn,glm", {"map": {"dnn": "dnn", "glm": "glm"}}),
        ("[model]\nhidden = 16\n", "dnn", {"name": "dnn", "hidden": 16}),
    ],
)
def test_models_in_place_of_those_of_a_file(
    tmp_path: Path, text: str, typed: str, left: dict[str, object]
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    spec, hints = specification(file, {"model": typed}, [])
    assert spec.model.model_dump(exclude_unset=True) == left
    dropped = "hidden" in text and typed != "dnn"
    expected = f"[model] hidden of the file went with 'dnn': not used for {typed!r}"
    assert hints == ([expected] if dropped else [])


def test_what_is_set_beside_the_models_counts(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(OF_A_MAP)
    spec, _ = specification(file, {"model": "dnn,glm"}, ["model.shares=[1, 3]"])
    assert spec.model.shares == (1, 3)


def test_other_data_have_a_scale_of_their_own(tmp_path: Path) -> None:
    file = Experiment("local", data="femnist").write(tmp_path / "mine.toml")
    assert specification(file, {}, [])[0].data.mean == (0.96,)
    spec, hints = specification(file, {"data": "mnist"}, [])
    assert (spec.data.mean, spec.data.std) == ((), ())
    assert hints == ["[data] mean, std of the file went with 'femnist': not used for 'mnist'"]
    assert specification(file, {"data": "cifar10"}, [])[0].data.mean[0] == 0.491
    file = Experiment("local", data="femnist", data__mean=[0.5]).write(tmp_path / "mine.toml")
    assert specification(file, {"data": "mnist"}, [])[0].data.mean == (0.5,), "somebody chose it"
