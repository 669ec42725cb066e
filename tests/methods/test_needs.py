"""What a method needs, asked by its name."""

from fedkin.methods.needs import needs_of


def test_needs_are_those_that_the_method_declares() -> None:
    fedmd, fedavg = needs_of("fedmd"), needs_of("fedavg")
    assert fedmd is not None
    assert fedavg is not None
    assert (fedmd.public, fedavg.public) == ("labeled", "none")


def test_what_cannot_be_made_has_none_to_tell() -> None:
    assert needs_of("no such method") is None
