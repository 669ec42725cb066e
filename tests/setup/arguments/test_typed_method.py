"""A method as it is typed."""

import sys

import pytest

from fedkin.core.errors import FedkinError
from fedkin.setup.arguments.typed_method import typed_method


@pytest.mark.parametrize(
    ("text", "name", "options"),
    [
        ("fedavg", "fedavg", {}),
        ("Per-FedAvg:hessian=fo", "Per-FedAvg", {"hessian": "fo"}),
        ("gone61:slower", "gone61:slower", {}),
        ("gone61.deep:slower:a=1,b=[2, 3]", "gone61.deep:slower", {"a": 1, "b": [2, 3]}),
        ("gone61.py:slower:a=x:y", "gone61:slower", {"a": "x:y"}),
        ("cp.py:slower:a=1", "cp:slower", {"a": 1}),  # cp is short for fedcp
        ("./fedavg.py:slower", "fedavg:slower", {}),
    ],
)
def test_a_name_or_a_path_and_hyper_parameters(text, name, options) -> None:
    assert typed_method(text) == (name, options)
    assert "gone61" not in sys.modules


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ditto:3", "--method ditto:3 is not understood: write ditto:key=value$"),
        (
            "ditto:slow",
            r"--method ditto:slow is not understood: write ditto:key=value "
            r"\(or ditto.py:slow for a function of your file ditto.py\)$",
        ),
        ("dito:3", "unknown method 'dito': did you mean 'ditto'"),
        ("a:b:3", "--method a:b:3 is not understood: write a:b:key=value$"),
    ],
)
def test_a_value_without_its_key(text, said) -> None:
    with pytest.raises(FedkinError, match=said):
        typed_method(text)


@pytest.mark.parametrize("text", ["blend", "blend:share=0.5"])
def test_a_file_of_this_folder_is_offered_where_no_method_is_called_so(
    text, tmp_path, monkeypatch
) -> None:
    (tmp_path / "blend.py").write_text("def mixed(): pass\n")
    (tmp_path / "fedavg.py").write_text("def mixed(): pass\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FedkinError, match=r"^unknown method 'blend': write blend:mixed for the"):
        typed_method(text)
    assert typed_method("fedavg") == ("fedavg", {})  # fedkin's own goes before the file
