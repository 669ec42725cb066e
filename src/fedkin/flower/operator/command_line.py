"""Flower's own programs, called by the operator's commands: their environment, which SuperLink they
speak to, and their answers, checked.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import tomli_w

from fedkin.core.errors import FedkinError
from fedkin.core.files import write_file
from fedkin.flower.address import local_address
from fedkin.flower.commands import of_shell
from fedkin.flower.config import Deployment

QUIET = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
    "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.1",
    "OMP_NUM_THREADS": "1",
}
LINK = "deployment"  # the name of the connection in Flower's configuration
AWAY = "Connection to the SuperLink is unavailable"  # what Flower says where nobody answers


def environment(home: Path) -> dict[str, str]:
    """The environment of Flower's programs: no calls out, no files in the user's home, our Python's
    programs first.

    Args:
        home: FLWR_HOME of the deployment.

    Returns:
        {variable: value}.
    """
    here = str(Path(sys.executable).parent)
    return {
        **os.environ,
        **QUIET,
        "FLWR_HOME": str(home),
        "PATH": f"{here}{os.pathsep}{os.environ.get('PATH', '')}",
    }


def program(name: str) -> str:
    """A program of Flower beside this Python.

    Args:
        name: Such as "flower-superlink".

    Returns:
        A path, which need not be there.
    """
    return str(Path(sys.executable).parent / name)


def connection(folder: Path, deployment: Deployment) -> Path:
    """FLWR_HOME of a deployment, with the address of its SuperLink in it.

    Args:
        folder: Of the deployment.
        deployment: Its configuration.

    Returns:
        The folder, which is made.
    """
    home = folder / "flower"
    home.mkdir(exist_ok=True, mode=0o700)
    secure = (
        {"insecure": True}
        if deployment.insecure
        else {"root-certificates": str(folder / "certs" / "ca.crt")}
    )
    link = {"address": local_address(deployment.address, deployment.listen), **secure}
    text = tomli_w.dumps({"superlink": {"default": LINK, LINK: link}})
    write_file(home / "config.toml", text.encode())
    return home


def settings(**values: str) -> str:
    """Settings for a program of Flower, which looks for the next quotation mark of the same kind
    before it reads TOML.

    Args:
        **values: Of the settings: paths may hold any letter, but not quotation marks of both kinds.

    Returns:
        key="value" each, with blanks between.
    """
    return " ".join(f"{key}={_quoted(value)}" for key, value in values.items())


def _quoted(value: str) -> str:
    if "'" not in value and ('"' in value or "\\" in value):
        return f"'{value}'"
    return json.dumps(value, ensure_ascii=False)  # TOML has no surrogates


class CommandLine:
    """``flwr`` for the SuperLink of one deployment.

    Args:
        folder: The deployment's.
        deployment: Its configuration.
    """

    def __init__(self, folder: Path, deployment: Deployment) -> None:
        self.home = connection(folder, deployment)
        self._away = (
            f"the SuperLink at {local_address(deployment.address, deployment.listen)} does not "
            f"answer: start it ({of_shell(folder / 'start-superlink')}), or look into its output"
        )

    def ask(self, *arguments: str) -> dict[str, Any]:
        """Call it, and wait for its end.

        Args:
            arguments: The words after ``flwr``, but for the form of its answer.

        Returns:
            What ``flwr`` printed, read as JSON.

        Raises:
            FedkinError: It failed; its exit code is 0 where it says so in its answer alone.
        """
        done = subprocess.run(
            [program("flwr"), *arguments, "--format", "json"],
            env=environment(self.home),
            capture_output=True,
            start_new_session=True,  # a Ctrl-C is for fedkin, which ends it where it may
            text=True,
            check=False,
        )
        answer = _answer(done.stdout)
        if not done.returncode and answer is not None and answer.get("success", True):
            return answer
        message = answer.get("error-message") if answer is not None else None
        words = " ".join(str(message or done.stdout + done.stderr).split())
        if AWAY in words:
            raise FedkinError(self._away)
        raise FedkinError(f"flwr {arguments[0]} failed: {words[-400:]}")


def _answer(text: str) -> dict[str, Any] | None:
    """What stands in the braces; Flower may say something before them."""
    try:
        answer = json.loads(text[text.index("{") :])
    except ValueError:
        return None
    return answer if isinstance(answer, dict) else None
