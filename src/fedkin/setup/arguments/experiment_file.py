"""Whether what was typed in the place of an experiment is one."""

from pathlib import Path

from fedkin.core.errors import FedkinError
from fedkin.core.system.user_code import is_user_code


def check_experiment_file(file: Path, command: str) -> None:
    """Refuse data, a run or a method in the place of an experiment, with the command that is meant.

    Args:
        file: As it was typed.
        command: What was typed after ``fedkin``, for messages.

    Raises:
        FedkinError: It is one of them.
    """
    from fedkin.data.formats.user_files import FILES
    from fedkin.methods import METHODS, own_name

    asked = f"fedkin {command}"
    if file.is_dir():
        goes_on = f"fedkin resume {file} goes on with a run, " if command == "run" else ""
        raise FedkinError(
            f"{file} is a folder: {goes_on}{asked} {file}/experiment.toml takes the experiment of "
            f"a run, {asked} --data {file}/ the files in it"
        )
    head = str(file).partition(":")[0]
    if Path(head).suffix.lower() in FILES:
        raise FedkinError(f"{file} is no experiment but data: {asked} --data {file}")
    if file.exists():
        return
    if own_name(head, METHODS) in METHODS or is_user_code(str(file)):
        raise FedkinError(f"{file} is no experiment but a method: {asked} --method {file}")
