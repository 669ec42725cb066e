"""The notebooks of docs/notebooks: made from their cells, run, and kept with what came out.

``python -m website.notebooks`` runs all and writes them; the site shows them as pages.
"""

import re
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "notebooks"
CELL = re.compile(r"^# %%( \[markdown\])?\n", re.MULTILINE)
LONGEST = 600  # seconds of a cell
MOST = 60_000  # letters of one output that a page shows


def read(source: Path) -> Any:
    """The notebook of a .py file: cells begin with ``# %%``, those of text with
    ``# %% [markdown]``.
    """
    pieces = CELL.split(source.read_text(encoding="utf-8"))[1:]
    cells = []
    for number, (text, body) in enumerate(zip(pieces[::2], pieces[1::2])):
        if text:
            said = "\n".join(line.removeprefix("#").removeprefix(" ") for line in body.splitlines())
            cells.append(nbformat.v4.new_markdown_cell(said.strip()))
        else:
            cells.append(nbformat.v4.new_code_cell(body.strip()))
        cells[-1]["id"] = f"cell-{number}"
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})


def executed(source: Path, folder: Path) -> Any:
    """The notebook after a run in a folder. Raises CellExecutionError where a cell fails."""
    found = read(source)
    client = NotebookClient(found, timeout=LONGEST, resources={"metadata": {"path": str(folder)}})
    client.execute()
    for cell in found.cells:
        cell["metadata"] = {}  # times of this machine
    return found


def write(source: Path) -> Path:
    """Run one and write it beside its source, with its outputs."""
    with tempfile.TemporaryDirectory() as folder:
        found = executed(source, Path(folder))
    target = source.with_suffix(".ipynb")
    nbformat.write(found, target)
    return target


def sources() -> list[Path]:
    """Their cells."""
    return sorted(FOLDER.glob("*.py"))


def pages() -> dict[str, str]:
    """Each notebook as a page, by its place in the site."""
    return {f"notebooks/{path.stem}.md": _page(path) for path in sorted(FOLDER.glob("*.ipynb"))}


def _page(path: Path) -> str:
    lines = []
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            lines += [cell.source, ""]
            continue
        lines += ["```python", cell.source, "```", ""]
        for output in cell.outputs:
            lines += [*_shown(output), ""]
    return "\n".join(lines)


def _shown(output: Any) -> list[str]:
    data = output.get("data", {})
    if "text/html" in data and len(data["text/html"]) < MOST:
        inside = re.sub(r"\n\s*", " ", data["text/html"])
        return [f'<div class="output">{inside}</div>']
    text = data.get("text/plain", output.get("text", ""))
    return ["```text", text.rstrip()[:MOST], "```"]


def main() -> None:
    for source in sources():
        print(write(source))


if __name__ == "__main__":
    main()
