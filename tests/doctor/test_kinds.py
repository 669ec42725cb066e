"""Kinds of methods, and many methods in a short sentence."""

from fedkin.doctor.kinds import FEDERATED, KINDS, in_words, listed
from fedkin.doctor.risky_methods import SPARED, risky_for
from fedkin.methods import METHODS


def test_every_method_that_federates_is_of_one_kind() -> None:
    alone = {"local", "centralized"}
    assert sorted(METHODS.keys() - alone) == sorted(sum(KINDS.values(), ()))
    assert len(FEDERATED) == len(set(FEDERATED))


def test_a_kind_is_said_where_most_of_it_is_meant() -> None:
    one, *_ = KINDS.values()
    assert in_words(one) == "methods with one model for all"
    few = set(one) - {"moon", "feddf"}
    assert in_words(few) == "methods with one model for all (not feddf, moon)"
    assert in_words({*few, "ditto", "apfl"}).endswith(", and apfl and ditto")
    assert in_words(FEDERATED) == "methods that federate"
    assert in_words(["ifca", "ditto"]) == "ditto and ifca"
    groups = KINDS["a group's model or a mixture"]
    assert in_words({*one, *groups}) == (
        "methods with one model for all or a group's model or a mixture"
    )
    assert in_words(set(FEDERATED) - {"fedu", "comet"}) == "methods that federate (not comet, fedu)"


def test_names_in_a_sentence() -> None:
    assert [listed("abc"[:n]) for n in (1, 2, 3)] == ["a", "a and b", "a, b and c"]
    assert listed("abc", "or") == "a, b or c"


def test_what_holds_of_a_kind_is_not_said_of_others() -> None:
    """Where clients have one concept, one model for all loses nothing; with groups it does."""
    one, own = KINDS["one model for all"], KINDS["layers of one's own"]
    assert not set(one) & set(risky_for("shared"))
    assert set(one) <= set(risky_for("grouped"))
    assert set(own) - set(risky_for("shared")) <= set(SPARED["shared"])
