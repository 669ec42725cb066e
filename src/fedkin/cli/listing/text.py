"""Lists as text, line by line."""

import inspect
import math
import textwrap
from typing import Any

from rich.console import Console
from rich.text import Text

LONG = 7  # items of a list that are shown


def beginning(thing: Any) -> str:
    """Of what something says of itself: its first paragraph, in one line.

    Args:
        thing: With a docstring, or without one.

    Returns:
        Text without double backquotes; "" without a docstring.
    """
    paragraph = (inspect.getdoc(thing) or "").strip().partition("\n\n")[0]
    return " ".join(paragraph.split()).replace("``", "")


def plain(value: Any) -> Any:
    """A default as JSON has it.

    Args:
        value: Any default.

    Returns:
        A plain value; nan and infinity as text.
    """
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def values(parameters: dict[str, Any]) -> str:
    """Parameters and their defaults on a line.

    Args:
        parameters: {name: default}.

    Returns:
        "lam=1.0  epochs=5", say.
    """
    return "  ".join(f"{key}={_shown(value)}" for key, value in parameters.items())


def _shown(value: Any) -> str:
    if isinstance(value, list) and len(value) > LONG:
        return f"[{value[0]}, {value[1]}, …, {value[-1]}]"
    return "none" if value is None else str(value)


def paragraph(console: Console, title: str, rest: list[str], last: str = "dim") -> None:
    """A title, and lines below it.

    Args:
        console: Standard output.
        title: In bold.
        rest: Texts, of which empty ones are left out.
        last: The style of all but the first.
    """
    console.print(Text(title, style="bold"), soft_wrap=True)
    for number, text in enumerate(line for line in rest if line):
        style = last if number else ""
        for line in textwrap.wrap(text, console.width - 5):
            console.print(Text(f"    {line}", style=style), soft_wrap=True)


def heading(console: Console, title: str, rest: str) -> None:
    """Of a list, with a remark.

    Args:
        console: Standard output.
        title: Underlined.
        rest: The remark.
    """
    console.print(Text.assemble((title, "bold underline"), "  ", (rest, "dim")), soft_wrap=True)


def note(console: Console, text: str) -> None:
    """What is said below a list.

    Args:
        console: Standard output.
        text: The note.
    """
    console.print(Text(text, style="dim"), soft_wrap=True)
    console.print()
