"""llms.txt, JSON and the manual page: for programs."""

import json
import re
from pathlib import Path
from typing import Any

import fedkin
from fedkin.runs.spec import Spec
from website.man_page import page as man_page
from website.method_pages import every
from website.spec_keys import every_key


def write(site: Path, stage: Path, nav: list[Any]) -> None:
    """Beside the pages: methods.json, spec.json (a JSON Schema), fedkin.1 and llms.txt."""
    schema = Spec.model_json_schema()
    for key in every_key():
        model = Spec.model_fields[key.section].annotation
        assert model is not None
        schema["$defs"][model.__name__]["properties"][key.name]["description"] = key.meaning
    _json(site / "spec.json", schema)
    _json(site / "methods.json", every())
    (site / "fedkin.1").write_text(man_page(), encoding="utf-8")
    (site / "llms.txt").write_text("\n".join(_index(stage, nav)), encoding="utf-8")


def _json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _index(stage: Path, nav: list[Any]) -> list[str]:
    """The pages in the order of the navigation, each with its first sentence."""
    lines = [
        f"# fedkin {fedkin.__version__}",
        "",
        "> Personalized federated learning in Python and PyTorch: a model for each client.",
        "",
        "- [methods.json](methods.json): every method, its keys, needs and certificate",
        "- [spec.json](spec.json): JSON Schema of experiment files",
        "- [json-output.json](json-output.json): JSON Schema of what commands print with --json",
        "",
    ]
    for entry in nav:
        ((title, inner),) = entry.items()
        lines += [f"## {title}", ""]
        for name, place in leaves(inner if isinstance(inner, list) else [entry]):
            said = _first_sentence((stage / place).read_text(encoding="utf-8"))
            lines.append(f"- [{name}]({_built(place)}): {said}")
        lines.append("")
    return lines


def leaves(nav: list[Any]) -> list[tuple[str, str]]:
    """The pages of a navigation: (title, place)."""
    found = []
    for entry in nav:
        ((title, inner),) = entry.items() if isinstance(entry, dict) else [("", entry)]
        found += leaves(inner) if isinstance(inner, list) else [(title, inner)]
    return found


def _built(place: str) -> str:
    """Where a page stands once it is built: a folder's README is its index."""
    folder, _, name = place.rpartition("/")
    page = "index.html" if name == "README.md" else f"{name.removesuffix('.md')}.html"
    return f"{folder}/{page}" if folder else page


def _first_sentence(text: str) -> str:
    for paragraph in re.split(r"\n\s*\n", text):
        bare = " ".join(paragraph.split())
        if bare and not re.match(r"[#|`!:<-]|\?\?\?", bare):
            return re.sub(r"\]\([^)]*\)|\[", "", re.split(r"(?<=[.:])\s", bare)[0]).replace("]", "")
    return ""
