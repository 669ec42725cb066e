"""Whether what was typed in the place of an experiment is one."""

from pathlib import Path
from shlex import quote

from fedkin.core.errors import FedkinError
from fedkin.core.system.user_code import is_user_code
from fedkin.runs.directory import runs_inside


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
        run = next(iter(runs_inside(file)), file)  # of a sweep's folder, its first trial
        goes_on = f"fedkin resume {quote(str(run))} goes on with a run, "
        raise FedkinError(
            f"{file} is a folder: {goes_on if command == 'run' else ''}{asked} "
            f"{quote(f'{run}/experiment.toml')} takes the experiment of a run, {asked} --data "
            f"{quote(f'{file}/')} the files in it"
        )
    head = str(file).partition(":")[0]
    if Path(head).suffix.lower() in FILES:
        typed = quote(str(file))
        raise FedkinError(f"{file} is no experiment but data: {asked} --data {typed}")
    if file.exists():
        return
    if own_name(head, METHODS) in METHODS or is_user_code(str(file)):
        raise FedkinError(f"{file} is no experiment but a method: {asked} --method {file}")
