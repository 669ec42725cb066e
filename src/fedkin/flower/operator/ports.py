"""Which port the next node's own runtime gets: one that no node of the deployment ever had."""

from pathlib import Path

from fedkin.core.errors import FedkinError
from fedkin.core.files import read_file, write_file
from fedkin.flower.config import NODE, Deployment, NodeConfig, load

NEXT = "next_port"  # the file, in a deployment's folder
LARGEST = 100  # bytes of it


def next_port(folder: Path, deployment: Deployment) -> int:
    """The port of a node that is added.

    Args:
        folder: The deployment's. Folders of nodes may have been carried away, and names taken out
            of ``clients``: the file NEXT counts those too.
        deployment: Its configuration.

    Returns:
        One above the highest.

    Raises:
        FedkinError: The file, or a node.toml that is still here, cannot be read.
    """
    here = (folder / "nodes").glob(f"*/{NODE}")
    ports = [load(NodeConfig, path.parent, NODE).port + 1 for path in here]
    noted = folder / NEXT
    if noted.is_file():
        try:
            ports.append(int(read_file(noted, LARGEST)))
        except (OSError, ValueError):
            raise FedkinError(
                f"{noted} is no number: write one above the highest port of any node into it"
            ) from None
    return max([deployment.node_port + len(deployment.names), *ports])


def note_port(folder: Path, port: int) -> None:
    """Keep in mind which port comes next.

    Args:
        folder: The deployment's.
        port: That of the next node.
    """
    write_file(folder / NEXT, f"{port}\n".encode())
