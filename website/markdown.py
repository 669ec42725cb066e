"""GitHub's Markdown as the site's parser reads it: lists, comments and links."""

import re
from collections.abc import Callable

FENCE = re.compile(r"\s*(```+|~~~+)")
ITEM = re.compile(r"(\s*)([-*+]|\d+[.)]) ")
PERCENT = re.compile(r"(?<=\d) %")
LINK = re.compile(r"(\]\()([^)\s]+)(\))")


def staged(text: str, moved: Callable[[str], str]) -> str:
    """A page for the site.

    Args:
        text: the page as it stands in the repository.
        moved: what a link's target becomes.

    Returns:
        The page with blank lines before lists, nested items indented by four spaces, without
        comments, and with its links moved. A number in a table keeps its % beside it on narrow
        screens. Code stays as it is.
    """
    lines: list[str] = []
    fence, in_list, loose = "", False, False  # loose: the item before has a second paragraph
    for line in text.split("\n"):
        opening = FENCE.match(line)
        if fence or opening:
            if opening and not fence:
                fence = opening[1]
            elif fence and line.strip() == fence:
                fence = ""
            lines.append(line)
            continue
        if re.fullmatch(r"<!--.*-->", line.strip()):
            lines.append("")
            continue
        item = ITEM.match(line)
        if item and not item[1] and lines and lines[-1].strip() and (loose or not in_list):
            lines.append("")
        if item:
            in_list, loose = True, loose and bool(item[1])
        elif in_list and line.startswith(" ") and not lines[-1].strip():
            loose = True
        elif line.strip() and not line.startswith(" ") and not (lines and lines[-1].strip()):
            in_list = loose = False  # a paragraph after a blank line ends the list
        line = PERCENT.sub("\N{NO-BREAK SPACE}%", line) if line.startswith("|") else line
        lines.append(_links(_deeper(line) if in_list else line, moved))
    return "\n".join(lines)


def _deeper(line: str) -> str:
    """Two or three spaces, which are a level in GitHub's lists, are four here."""
    spaces = len(line) - len(line.lstrip(" "))
    return "    " + line.lstrip(" ") if 2 <= spaces < 4 else line


def _links(line: str, moved: Callable[[str], str]) -> str:
    """The line with its links moved, but for those in inline code."""
    parts = re.split(r"(`+[^`]*`+)", line)
    parts[::2] = [
        LINK.sub(lambda found: found[1] + moved(found[2]) + found[3], part) for part in parts[::2]
    ]
    return "".join(parts)


def cell(text: str) -> str:
    """Text within a table."""
    return " ".join(text.split()).replace("|", "\\|")


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """The lines of a table."""
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    return [*lines, *(f"| {' | '.join(map(cell, row))} |" for row in rows)]
