"""Units of systemd for what runs for long: the SuperLink, and each node. They are templates, whose
instance is the folder, for nobody knows yet where a node's folder will lie.
"""

import sys
from pathlib import Path

from fedkin.core.files import write_file

NODE_UNIT, LINK_UNIT = "fedkin-node@.service", "fedkin-superlink@.service"
TEXT = """# {name}: keeps {what} running, for the user whom the folder belongs to.
#   cp {name} ~/.config/systemd/user/
#   unit=$(systemd-escape --path --template={name} "$PWD")    # in the folder
#   systemctl --user enable --now "$unit"
#   loginctl enable-linger    # from the start of the machine on, and after logging out
# The log: journalctl --user -u '{star}'
[Unit]
Description={what} of fedkin in %f

[Service]
# the fedkin that is used; without the line, the one in the PATH of services
{environment}
Environment=PYTHONUNBUFFERED=1
WorkingDirectory=%f
ExecStart=%f/{script}
Restart=always
RestartSec=10
# fedkin ends what it started
KillMode=mixed
TimeoutStopSec=30

[Install]
WantedBy=default.target
"""


def link_unit(folder: Path) -> None:
    """Write the SuperLink's unit, which uses the fedkin that writes it.

    Args:
        folder: The deployment's.
    """
    program = Path(sys.executable).parent / "fedkin"
    _write(folder / LINK_UNIT, "the SuperLink", "start-superlink", f'"FEDKIN={program}"')


def node_unit(folder: Path) -> None:
    """Write a node's unit: which fedkin its machine has is to be filled in there.

    Args:
        folder: The node's.
    """
    _write(folder / NODE_UNIT, "a node", "start", "FEDKIN=/path/of/fedkin", "#")


def _write(path: Path, what: str, script: str, fedkin: str, before: str = "") -> None:
    text = TEXT.format(
        name=path.name,
        star=path.name.replace("@", "@*"),
        what=what,
        script=script,
        environment=f"{before}Environment={fedkin}",
    )
    write_file(path, text.encode())
