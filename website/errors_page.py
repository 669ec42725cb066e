"""Every message that a user's mistake can give, from the sources."""

import ast
import re
from pathlib import Path

import fedkin
from fedkin.core.codes.families import Family, code_of, families
from website.markdown import table

INTRODUCTION = """\
# Error messages

After this page you know what an error of fedkin means and what to do. Usage errors print one line
on standard error, with a code in brackets at its end, and exit with status 2. From Python they are
`FedkinError` with the same text; `error.code` is the code. `fedkin explain CODE` prints the page of
a code without a browser.

[Settings of the program](../settings.md#in-scripts) has the exit statuses.
"""
FOLDER = "reference/errors"
SAYING = ("FedkinError", "FailedAtServer", "LacksColumn")  # whose sentences the pages list


def page() -> dict[str, str]:
    """The list of codes and a page each, by their places in the site."""
    by_code = sentences()
    lines = [INTRODUCTION]
    rows = [[f"[{one.code}](errors/{one.code}.md)", one.title] for one in families().values()]
    lines += [*table(["code", "what is wrong"], rows), ""]
    pages = {f"{FOLDER}/{code}.md": _of(one, by_code[code]) for code, one in families().items()}
    return {f"{FOLDER}.md": "\n".join(lines), **pages}


def sentences() -> dict[str, list[str]]:
    """The messages of every code, from the sources; {…} stands for what a user said."""
    root = Path(fedkin.__file__).parent
    found: dict[str, list[str]] = {code: [] for code in families()}
    for path in sorted(root.rglob("*.py")):
        module = ".".join(("fedkin", *path.relative_to(root).with_suffix("").parts))
        for said in messages(path.read_text(encoding="utf-8")):
            found[code_of(said.replace("{…}", "'…'"), module)].append(said)
    return found


def _of(one: Family, said: list[str]) -> str:
    lines = [f"# {one.code}: {one.title}", "", one.means, "", "## An example", ""]
    if one.typed:
        lines += ["```console", f"$ {one.typed}"]
        lines += [f"error: {one.example} [{one.code}]", "```"]
    else:
        lines += ["```text", f"error: {one.example} [{one.code}]", "```"]
    lines += ["", "## What to do", "", *(f"- {linked(what)}" for what in one.do), ""]
    if said:
        lines += ["## The messages with this code", ""]
        lines += ["`{…}` stands for what your command or file said.", ""]
        lines += table(["message"], [[f"`{text}`"] for text in sorted(set(said))])
    return "\n".join([*lines, ""])


def linked(text: str) -> str:
    """Pages that a text names (docs/…md) as links from a code's page."""
    return re.sub(r"\bdocs/([\w/]+\.md)", r"[\1](../../\1)", text)


def messages(source: str) -> list[str]:
    """The sentences of every call of SAYING in a source, with {…} for what is put in."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in SAYING
            and node.args
        ):
            said = _template(node.args[0]).replace("`", "'")
            if len(said.replace("{…}", "").split()) > 1:
                found.append(said)
    return list(dict.fromkeys(found))


def _template(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else "{…}" for part in node.values
        )
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _template(node.left) + _template(node.right)
    return "{…}"
