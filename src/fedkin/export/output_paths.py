"""Where the files of an exported model go."""

import re
from pathlib import Path

from fedkin.export.opened_run import PERSONAL, Member
from fedkin.runs.directory import path_in_run
from fedkin.runs.output_files import outside_run_states

LETTERS = 60  # of a client's name in its folder's: of four bytes each they fit any file system


def place_of(
    run: Path, out: Path | None, member: Member, format: str, view: str = PERSONAL
) -> Path:
    """The folder of a model: in ``out``, else in the run directory, where none of its files is a
    link to somewhere else. Other views than the personal one have folders in the client's.

    Args:
        run: The run directory.
        out: A folder to put it into; None: the run directory.
        member: Whose model.
        format: The ending of its file: "safetensors", "pt2" or "onnx".
        view: The name of the view that is exported.

    Returns:
        A folder, which need not be there.

    Raises:
        FedkinError: A part of the path in the run directory is a link to somewhere else, or
            ``out`` is among a run's states.
    """
    names = [_safe(member.name, member.number), *([] if view == PERSONAL else [view])]
    if out is not None:
        return outside_run_states(out.joinpath(*names))
    for file in (f"model.{format}", "card.json", "card.md"):
        path_in_run(run, "export", *names, file)
    return path_in_run(run, "export", *names)


def place_of_shared(run: Path, out: Path | None, format: str, view: str) -> Path:
    """The folder of a model that all clients share, which has the name of its view.

    Args:
        run: The run directory.
        out: A folder to put it into; None: the run directory.
        format: The ending of its file.
        view: The name of the view that all share, such as "global".

    Returns:
        A folder, which need not be there.
    """
    return place_of(run, out, Member(view, None), format)


def _safe(name: str, number: int | None) -> str:
    """A client's name as a folder's, with its number where letters had to go."""
    plain = re.sub(r"[^\w.-]+", "_", name).strip("._-")[:LETTERS]
    return (
        plain if plain == name else f"{plain}-{'joined' if number is None else number}".lstrip("-")
    )
