"""Methods that compute with the rows of a head refuse one that is no linear layer."""

import pytest

from fedkin.core.errors import FedkinError
from fedkin.core.method import FederationInit
from fedkin.core.model import Head
from fedkin.methods.parts.checks.linear_head import check_linear_head


def start(*, linear: bool, names: tuple[str, ...]) -> FederationInit:
    head = Head(names, 2, linear, lambda w, x: x, lambda w, x: x, lambda w, x: x)
    return FederationInit({}, (0,), 0, 2, lambda k: {}, heads={"small": head})


def test_a_linear_head_is_taken() -> None:
    check_linear_head("mine adds", start(linear=True, names=("out.weight",)))
    check_linear_head("mine adds", start(linear=True, names=("w", "b")), with_bias=True)


@pytest.mark.parametrize(
    ("linear", "names", "with_bias"), [(False, ("w", "b"), False), (True, ("w",), True)]
)
def test_another_is_refused(linear: bool, names: tuple[str, ...], with_bias: bool) -> None:
    with pytest.raises(FedkinError, match=r"^mine adds: the head of small is none; leave out"):
        check_linear_head("mine adds", start(linear=linear, names=names), with_bias=with_bias)
