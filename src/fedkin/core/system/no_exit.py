"""``sys.exit`` in code of somebody's own: it would end fedkin without a word, as if done."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import extract_tb

from fedkin.core.errors import MOST, cut, named_line

PACKAGE = Path(__file__).parents[2]  # fedkin's own files


class Exited(RuntimeError):
    """What is raised in the place of SystemExit, or of another exception that is no Exception."""


@contextmanager
def no_exit() -> Iterator[None]:
    """Around code of somebody's own, which may raise anything.

    Ctrl-C stays what it is. So does what fedkin raises itself, as a node does that is asked to end.

    Yields:
        Nothing.

    Raises:
        Exited: The code would have ended this process; its traceback ends where it would.
    """
    try:
        yield
    except (Exception, KeyboardInterrupt):
        raise
    except BaseException as error:
        if _by_fedkin(error):
            raise
        raise Exited(f"{_what(error)} would end fedkin").with_traceback(
            error.__traceback__
        ) from None


def _what(error: BaseException) -> str:
    if not isinstance(error, SystemExit):
        return named_line(error)
    return "sys.exit()" if error.code is None else f"sys.exit({cut(repr(error.code), MOST)})"


def _by_fedkin(error: BaseException) -> bool:
    """Whether it was raised in a file of fedkin's, as by one that handles a signal."""
    frames = extract_tb(error.__traceback__)
    return Path(frames[-1].filename).is_relative_to(PACKAGE)
