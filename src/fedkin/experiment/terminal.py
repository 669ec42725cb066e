"""What a person sees: every line of every command goes through here, so that no foreign string
commands a terminal.
"""

import io
import logging
import os
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from rich.console import (
    Console,
    ConsoleOptions,
    ConsoleRenderable,
    RenderableType,
    RenderHook,
    RenderResult,
)
from rich.segment import Segment

from fedkin.core.errors import cut
from fedkin.core.escaping import plain, plain_lines
from fedkin.core.system.posix import ENDS, HANGUP
from fedkin.engine.interrupts import TOLD

LONGEST = 2000  # letters of one sentence on stderr
LOG = logging.getLogger("fedkin")
ERROR = "error: "  # before what ended a command
WIDE = 160  # columns where there is no terminal: tables keep their lines


def say(text: object) -> None:
    """A line on standard output. Who has closed it ends no work: from then on nothing is said.

    Args:
        text: A line without its end.
    """
    _put(plain_lines(str(text)) + "\n")


def say_all(text: str) -> None:
    """A text that ends its own lines.

    Args:
        text: Lines with their ends.
    """
    _put(plain_lines(text))


def print_notice(text: object) -> None:
    """One line for standard error, whatever the text holds: a record of the logger fedkin. A
    program's own handlers get it as harmless as a terminal does.

    Args:
        text: A sentence, of which LONGEST letters are kept.
    """
    LOG.info("%s", _harmless(str(text)))


def note(text: object) -> None:
    """As ``print_notice``, "note: …": what a person should know of what is done or shown.

    Args:
        text: A sentence.
    """
    LOG.warning("%s", _harmless(f"note: {text}"))


def notes(texts: Iterable[object]) -> None:
    """Several of them, a line each.

    Args:
        texts: In their order.
    """
    for text in texts:
        note(text)


def fail(text: object) -> None:
    """As ``print_notice``, "error: …": what ended the command. ``--quiet`` leaves it.

    Args:
        text: A sentence.
    """
    LOG.error("%s", _harmless(f"{ERROR}{text}"))


class ToStandardError(logging.Handler):
    """Prints records as lines. With ``quiet`` only errors, with ``verbose`` debugging as well."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record, at most LONGEST letters of it.

        Args:
            record: Of the logger fedkin.
        """
        line = _harmless(record.getMessage())
        with suppress(BrokenPipeError, ValueError):  # nobody reads it, or it is closed
            print(line, file=sys.stderr, flush=True)


def loudness(level: int) -> None:
    """From now on standard error gets the logger's records of this level and above: commands call
    it, a program that imports fedkin decides for itself.

    Args:
        level: Of the module ``logging``.
    """
    _HANDLER.setLevel(level)
    LOG.addHandler(_HANDLER)  # once, however often
    LOG.setLevel(logging.DEBUG)  # what is heard is the handlers' to say


def quiet() -> bool:
    """Whether only results and errors are to be said.

    Returns:
        True under --quiet.
    """
    return _HANDLER.level > logging.WARNING


def console() -> Console:
    """Standard output for tables: strings are text, not markup, and what a terminal would obey is
    made visible.

    Returns:
        As wide as the terminal; WIDE columns where there is none.
    """
    output = Console(markup=False, emoji=False, highlight=False)
    if not (output.is_terminal or "COLUMNS" in os.environ):
        output = Console(markup=False, emoji=False, highlight=False, width=WIDE)
    output.push_render_hook(_Plainly())
    return output


def any_encoding() -> None:
    """Letters that a terminal has not are written by their numbers, instead of ending
    the command.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def cleans_up_on_signals() -> Iterator[None]:
    """A process that gets SIGTERM or SIGHUP ends as after Ctrl-C: temporary files are removed.

    A signal that is ignored already (nohup) stays so; a second one is not heard meanwhile.

    Yields:
        Nothing.

    Raises:
        KeyboardInterrupt: In the main thread, when the signal comes.
    """

    def end(number: int, frame: object) -> None:
        signal.signal(number, signal.SIG_IGN)
        TOLD.add(number)
        raise KeyboardInterrupt

    before = {}
    with suppress(ValueError):  # not in the main thread: nothing to catch there
        for number in ENDS:
            if signal.getsignal(number) is signal.SIG_DFL:
                before[number] = signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        TOLD.clear()  # last: a signal may come while handlers are put back


def ends_with_connection() -> bool:
    """Whether this process was begun over SSH, and would end with that connection: neither nohup
    nor a terminal that outlives it (tmux, screen) keeps it.

    Returns:
        False where there is no SSH.
    """
    kept = HANGUP is None or signal.getsignal(HANGUP) is signal.SIG_IGN
    return "SSH_CONNECTION" in os.environ and not kept and not {"TMUX", "STY"} & os.environ.keys()


class Plainly:
    """A renderable whose text commands no terminal; its own colours and boxes stay.

    Args:
        shown: What is drawn.
    """

    def __init__(self, shown: RenderableType) -> None:
        self.shown = shown

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self.shown, options):
            text, style, control = segment
            yield segment if control else Segment(plain_lines(text), style)


class _Plainly(RenderHook):
    """``Plainly`` around all that a console prints."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [Plainly(one) for one in renderables]


def tell_hints(texts: Iterable[str]) -> None:
    """Keys that have another name here, and the like: on stderr, each once.

    Args:
        texts: Sentences, of which some may be the same.
    """
    for text in dict.fromkeys(texts):
        print_notice(f"hint: {text}")


def _harmless(text: str) -> str:
    """One line that commands no terminal."""
    return cut(" ".join(plain(text).split()), LONGEST)


def _put(text: str) -> None:
    try:
        print(text, end="", flush=True)
    except BrokenPipeError:
        # Python would try once more at its end; work that goes on is worth more than its lines
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        note("nobody reads this command's output any more: its work goes on")


_HANDLER = ToStandardError(logging.INFO)
