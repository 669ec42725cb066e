"""Numbers of rounds and trials that a Python caller gives; the command line bounds its own."""

from fedkin.core.errors import FedkinError


def at_least(least: int, **counts: int | None) -> None:
    """Refuses what is no whole number, or a smaller one.

    >>> at_least(0, rounds=3, trials=None)

    Args:
        least: The smallest that fits.
        **counts: What was given, by the name of its argument; None: nothing was.

    Raises:
        FedkinError: Names the argument and what would fit.
    """
    for name, value in counts.items():
        if value is not None and (type(value) is not int or value < least):
            raise FedkinError(f"{name}={value!r} must be a whole number of at least {least}")
