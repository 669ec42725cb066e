"""The README of a deployment folder, for its operator."""

import json
from collections.abc import Sequence
from pathlib import Path

from fedkin.flower.commands import deploy
from fedkin.flower.config import NODE, Deployment

TEXT = """# A deployment of fedkin

Clients: {clients}. SuperLink: {address}. {security}

## Start

1. On the machine of the SuperLink, which keeps this folder: `./start-superlink` (under a
   supervisor: `fedkin-superlink@.service` is a unit for systemd; it starts again what ends{keys}).
2. {carry} {data} Start it with `./start` (under a supervisor:
   `fedkin-node@.service` beside it).
3. `{run}`: the live table, and a run directory in `{folder}/runs/`.
   Stopped or cut off: `{resume}`. From another terminal `{status}` says
   which nodes are connected, and how far the last run is.
4. On a node, after a run, beside its folder NAME: `fedkin deploy predict NAME --data FILE`, and
   `fedkin deploy export NAME --format onnx`.
5. A node that comes later: `{add}`, start it, then
   `{join}`.

Every machine has the same version of fedkin with the extra `flower`. A node works only for the
experiment in its own `experiment.toml`: for another experiment, replace the file here and on every
node.

{code}## Ports

| port | machine | open for |
|---|---|---|
| {port} (SuperLink) | this one | the nodes' addresses, nobody else |
| {first} … {last} (runtime of each node) | the nodes | nobody: they listen on 127.0.0.1 |

**Close the Control API.** It shares port {port} with the nodes' traffic, under the paths
`/v1/control` and `/v1/runtime`, and {unprotected}, that is, send code to every node. Let a proxy in
front of the SuperLink refuse these paths to all but this machine, or let the nodes come through a
private network that only they and you are in.

## Files

| file | what |
|---|---|
| `deployment.toml` | names, `deadline` (s), `max_bytes`; also `wait`, `quorum`, `soft_deadline` |
| `experiment.toml` | the experiment, with every default |
{key_files}| `*@.service` | units for systemd: of the SuperLink, and in each node's folder |
{masks}| `next_port` | the port that `deploy add` gives to the next node |
| `app/` | what Flower distributes: two lines that name the installed fedkin |

Backups, upgrades, logs and what happens when something fails: docs/deploy.md of fedkin.
"""

SECURE = {
    "security": "TLS and node authentication are on.",
    "keys": ", and\n   registers the keys in `keys/` by their names",
    "carry": "Carry each folder in `nodes/` to its machine, over a channel that nobody reads: it "
    "holds the\n   node's private key. Then delete it here.",
    "unprotected": "node authentication does not protect it: whoever reaches it and\nhas `ca.crt` "
    "can register a key and start a run",
    "key_files": """\
| `certs/ca.key` | signs certificates: keep it offline, bring it back for `fedkin deploy renew` |
| `certs/server.crt`, `certs/server.key` | of the SuperLink; yours will do if it names the address |
| `keys/NAME.pub` | registered; made by `ssh-keygen -t ecdsa -b 384 -f node.key` |
| `nodes/NAME/` | one node: `node.toml`, `node.key`, `ca.crt`, `experiment.toml`, `start` |
""",
    "masks": "| `clients.pub` | of secure aggregation: the clients' keys, in order; `deploy add` "
    "changes it |\n",
}
INSECURE = {
    "security": "Without TLS and without authentication: this machine only.",
    "keys": "",
    "carry": "Each folder in `nodes/` is a node, on this machine: there are no keys.",
    "unprotected": "nothing protects it: whoever reaches it can start a run",
    "key_files": "| `nodes/NAME/` | one node: `node.toml`, `experiment.toml`, `start` |\n",
    "masks": "",
}

OWN_DATA = """Put its data there (`data` in `node.toml` names the file: .npz with x_train,
   y_train, x_val, …, or a table with a column "split"). `fedkin deploy check NAME` reads it there,
   and says what is wrong. A table is taken as it is: labels are the numbers of classes, no cell is
   empty, and `data.mean` and `data.std` of `experiment.toml` scale the columns alike everywhere."""

CODE = """## Code of your own

The experiment names code that fedkin does not bring: {code}. Install its modules on every machine.
A node imports nothing that its owner did not allow: it refuses the experiment until its `{node}`
has this line in place of `imports = []`, also of a node that comes later:

```toml
{line}
```

"""


def operator_readme(folder: Path, deployment: Deployment, code: Sequence[str] = ()) -> str:
    """The text for a deployment.

    Args:
        folder: Where it is.
        deployment: Its configuration.
        code: Of somebody's own that its experiment names, each as ``package.module:name``.

    Returns:
        Markdown.
    """
    return TEXT.format(
        folder=folder,
        run=deploy("run", folder),
        resume=deploy("run", folder, "--resume"),
        status=deploy("status", folder),
        add=deploy("add", folder, "NAME"),
        join=deploy("join", folder, "NAME"),
        clients=", ".join(deployment.clients),
        address=deployment.address,
        port=deployment.address.rpartition(":")[2],
        first=deployment.node_port,
        last=deployment.node_port + len(deployment.clients) - 1,
        **(INSECURE if deployment.insecure else SECURE),
        data=OWN_DATA
        if deployment.own_data
        else "Its data are its part of the experiment's data set, which its machine must have.",
        code=_of_code(code),
    )


def imports_line(code: Sequence[str]) -> str:
    """What a node's owner writes into node.toml to allow code.

    Args:
        code: Each as ``package.module:name``.

    Returns:
        A line of TOML.
    """
    return f"imports = {json.dumps(list(code), ensure_ascii=False)}"


def _of_code(code: Sequence[str]) -> str:
    if not code:
        return ""
    return CODE.format(
        code=", ".join(f"`{one}`" for one in code),
        node=NODE,
        line=imports_line(code),
    )
