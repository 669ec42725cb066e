"""What the tests of build and of its parts have in common."""


def count(model) -> int:
    return sum(
        value.numel() for name, value in model.initial.items() if not name.startswith("buffer:")
    )
