"""What the tests of compile and of its parts have in common."""


def never():
    raise AssertionError("it was recorded again")
