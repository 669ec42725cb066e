"""Every message that a user's mistake can give, from the sources."""

import ast
from pathlib import Path

import fedkin
from website.markdown import table

INTRODUCTION = """\
# Error messages

Find the message that you saw: search this site for a few of its words. A mistake gets one sentence
on standard error and exit status 2, from Python a `FedkinError` with the same sentence. `{…}`
stands for what your command or file said.

[Settings of the program](../settings.md#in-scripts) has the other exit statuses.
"""


def page() -> dict[str, str]:
    """The page, by its place in the site."""
    root = Path(fedkin.__file__).parent
    by_folder: dict[str, list[list[str]]] = {}
    for path in sorted(root.rglob("*.py")):
        folder = path.relative_to(root).parts[0].removesuffix(".py")
        rows = [[f"`{said}`"] for said in messages(path.read_text(encoding="utf-8"))]
        by_folder.setdefault(folder, []).extend(rows)
    lines = [INTRODUCTION]
    for folder, rows in by_folder.items():
        if rows:
            lines += [f"## {folder}", "", *table(["message"], sorted(rows)), ""]
    return {"reference/errors.md": "\n".join(lines)}


def messages(source: str) -> list[str]:
    """The sentences of every ``FedkinError(...)`` of a source, with {…} for what is put in."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "FedkinError"
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
