"""What a node's noise is drawn from, and what it calls its personal states by: files of its own,
which no server sees.
"""

import hmac
from pathlib import Path

from fedkin.core.rng import Secret, seeded
from fedkin.flower.node.request_log import hides
from fedkin.flower.node.store import salt_of
from fedkin.runs.directory import SECRET
from fedkin.runs.secret_file import new_secret, secret_of
from fedkin.runs.spec import Spec


def secret_at(state: Path, spec: Spec, run: str, data: str = "") -> Secret | None:
    """The secret of a node in one run, the same whenever it is asked for.

    Args:
        state: The node's folder of states; a secret is made there before its first run.
        spec: The experiment.
        run: Which one: each has noise of its own.
        data: The digest of the node's own file: what it is asked anew with other rows has another
            noise, or the difference of the two would have none.

    Returns:
        None where clients add no noise.

    Raises:
        FedkinError: It is gone after the run has begun, damaged, or readable by others.
    """
    if not spec.privacy.at_client:
        return None
    if spec.privacy.seeded:
        return seeded(spec.run.seed)
    known = (state / SECRET).exists() or (state / run).exists()
    if not known:
        state.mkdir(parents=True, exist_ok=True, mode=0o700)
    secret = secret_of(state) if known else new_secret(state)
    return secret.of(f"run {run} of {data}" if data else f"run {run}")


def states_key(state: Path, spec: Spec, run: str) -> bytes:
    """What the digests are keyed with by which the server knows a node's personal states: they are
    made of its data alone, where neither noise nor a mask is in them, so that a plain digest would
    confirm a guess of these.

    Args:
        state: The node's folder of states; its salt is made there where it is not.
        spec: The experiment.
        run: Which one.

    Returns:
        Nothing where the server is sent what a state is trained to all the same, and of a run for
        tests: digests are those of the same run in one process.
    """
    if not hides(spec) or spec.privacy.seeded:
        return b""
    return hmac.digest(salt_of(state), f"states of {run}".encode(), "sha256")


def for_content(secret: Secret | None, content: str) -> Secret | None:
    """What noise is drawn from for one content: two messages of a node never have the same noise,
    whatever was forgotten of its runs, or put back.

    Args:
        secret: Of the run.
        content: A digest of all that the work is made of but the data: the experiment, the round,
            the state that it begins from, and the message.

    Returns:
        The same for the same content. One of the seed, which protects nobody, stays as it is.
    """
    if secret is None or secret.seeded:
        return secret
    return secret.of(f"content {content}")
