"""A method as it is typed."""

import sys

import pytest

from fedkin.core.errors import FedkinError
from fedkin.setup.arguments.typed_method import of_this_folder, typed_method


@pytest.mark.parametrize(
    ("text", "name", "options"),
    [
        ("fedavg", "fedavg", {}),
        ("Per-FedAvg:hessian=fo", "Per-FedAvg", {"hessian": "fo"}),
        ("gone61:slower", "gone61:slower", {}),
        ("gone61.deep:slower:a=1,b=[2, 3]", "gone61.deep:slower", {"a": 1, "b": [2, 3]}),
        ("gone61.py:slower:a=x:y", "gone61:slower", {"a": "x:y"}),
    ],
)
def test_a_name_or_a_path_and_hyper_parameters(text, name, options) -> None:
    assert typed_method(text) == (name, options)
    assert "gone61" not in sys.modules


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ditto:3", "--method ditto:3 is not understood: write ditto:key=value$"),
        ("ditto:slow", "--method ditto:slow is not understood: write ditto:key=value$"),
        ("fed_avg.py:slow", "--method fed_avg:slow is not understood: write fed_avg:key=value$"),
        ("dito:3", "unknown method 'dito': did you mean 'ditto'"),
        ("a:b:3", "--method a:b:3 is not understood: write a:b:key=value$"),
    ],
)
def test_a_value_without_its_key(text, said) -> None:
    with pytest.raises(FedkinError, match=said):
        typed_method(text)


def test_a_file_of_this_folder_is_its_module() -> None:
    assert of_this_folder("net.py:Net:width=8") == "net:Net:width=8"
    assert of_this_folder("there/net.py:Net") == "there/net.py:Net"
