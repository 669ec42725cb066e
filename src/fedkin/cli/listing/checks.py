"""``fedkin methods NAME --check``: which rules a method keeps."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from fedkin.cli.listing.text import note
from fedkin.doctor.method_checks import CLIENTS, ROUNDS, Check

WORDS = {True: ("holds", "green"), False: ("fails", "bold red"), None: ("does not apply", "dim")}
ADVICE = (
    "What a function keeps elsewhere than in the state that it returns (a global, a closure, a "
    "counter) is lost with its process, and shared by clients: return it as state."
)
WIDTH = max(len(word) for word, _ in WORDS.values()) + 2


def show(console: Console, name: str, checks: Sequence[Check]) -> None:
    """A line a rule, and below it where it fails or why it does not apply.

    Args:
        console: Standard output.
        name: The method's, as it was typed.
        checks: Its verdicts.
    """
    about = f"  digits, {CLIENTS} clients, {ROUNDS} rounds"
    console.print(Text.assemble((name, "bold"), (about, "dim")), soft_wrap=True)
    for check in checks:
        word, style = WORDS[check.holds]
        console.print(Text.assemble((word.ljust(WIDTH), style), check.rule), soft_wrap=True)
        if check.found:
            console.print(Text(" " * WIDTH + check.found, style="dim"), soft_wrap=True)
    if any(check.holds is False for check in checks):
        note(console, ADVICE)
