"""How each page opens: with what its reader can do after it.

Pages that a person writes say it themselves; those that a program writes get it here.
"""

import re
from pathlib import Path

from fedkin.methods import METHODS

BEGINS = "After this page you "
TEXT = {
    "readme.md": "install fedkin, run it from the shell and from Python, and find every other page",
    "contributing.md": "write a method, test it, and send a change",
    "changelog.md": "say what changed since your version, and what your scripts must follow",
    "vulnerabilities.md": "report a weakness without telling everybody",
    "fidelity.md": "say what is proved of each method, by which test, and to what error",
    "reproduction/claims.md": "say of each claim of the five papers whether it holds when measured",
    "reference/cli/index.md": "find the command that does what you want",
}
FOLDERS = {  # of the pages that TEXT does not name
    "reference/cli": "type this command with every option that it has",
    "reference/python": "call every public name of this module",
    "reference/errors": "say what this code means, and fix what caused it",
    "reproduction": "compare what was published with what was measured, and run each row again",
}


def complete(stage: Path) -> None:
    """Puts the opening below the title of every staged page that has none.

    Raises:
        KeyError: for a page that nothing here has a sentence for.
    """
    for path in sorted(stage.rglob("*.md")):
        place = path.relative_to(stage).as_posix()
        text = path.read_text(encoding="utf-8")
        if place.startswith("files/") or BEGINS in " ".join(beginning(text).split()):
            continue
        title, rest = text.split("\n", 1)
        path.write_text(f"{title}\n\n{BEGINS}can {_of(place)}.\n\n{rest.lstrip()}", "utf-8")


def beginning(text: str) -> str:
    """The first paragraph below a page's title."""
    return re.split(r"\n\s*\n", text.split("\n", 1)[1].strip())[0]


def _of(place: str) -> str:
    if place in TEXT:
        return TEXT[place]
    folder, _, name = place.removesuffix(".md").rpartition("/")
    if folder == "methods":
        called = f"`{name}`" if name in METHODS else name.replace("_", " ")
        return (
            f"run {called}, set its keys, and say where it follows its paper and where it departs"
        )
    return FOLDERS[folder]
