"""Methods of a leaderboard that are not fedkin's."""

from fedkin.bench.leaderboard.user_methods import SHOWN, legend, signed, user_methods
from fedkin.methods import METHODS


def test_all_of_fedkins_methods_are_fedkins() -> None:
    assert user_methods(METHODS) == []
    assert all(signed(name) == name for name in METHODS)


def test_what_a_package_registered_is_not_fedkins() -> None:
    assert user_methods(["fedavgm", "fedavg", "nets:mine", "fedavgm"]) == ["fedavgm", "nets:mine"]


def test_of_many_the_first_are_named() -> None:
    assert legend([]) == ""
    assert legend(["a", "b"]) == "▲ marks methods that are not fedkin's: a, b."
    assert legend([f"m{k}" for k in range(SHOWN + 2)]).endswith("m4 and 2 more.")
