"""A row run again: the same bits and numbers, or what differs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from fedkin.bench.case import filled
from fedkin.bench.machine import commit, differences, machine, versions
from fedkin.bench.row import Row
from fedkin.bench.row_checks import check_against_spec, mismatches
from fedkin.bench.suite import Content
from fedkin.bench.third_party_code import third_party_code
from fedkin.bench.trial import run_trial, spec_of
from fedkin.core.errors import FedkinError, some
from fedkin.core.system.user_code import is_user_code
from fedkin.methods.user_methods import allow
from fedkin.setup.population import population_of
from fedkin.setup.user_code import code_of

SHORTEST = 4  # letters of an id
NOTHING = "nothing that a row tells of: code, version, machine and threads"


class Verified(NamedTuple):
    """``same``: the final state has the same bits. ``apart``: the largest difference of a client's
    score; None where it has the same clients no more. ``differs``: what the machines differ in.
    ``wrong``: what the row says although the same state does not come to it.
    """

    row: Row
    same: bool
    fingerprint: str
    mean: float
    apart: float | None
    differs: tuple[str, ...]
    wrong: tuple[str, ...] = ()

    @property
    def confirmed(self) -> bool:
        """Whether the row is the one that its run leads to."""
        return self.same and not self.wrong

    @property
    def sentence(self) -> str:
        """What came of it, and why it may have."""
        row = self.row
        name = f"{row.id}: {row.method} on {row.setting}, seed {row.seed}"
        if self.same and self.wrong:
            return f"{name}: same state, but the row's {'; '.join(self.wrong)}"
        if self.same:
            return f"{name}: the same bits, {row.measure} {self.mean:.4f}"
        difference = f"{self.mean:.4f}, not {row.mean or 0.0:.4f}"
        far = "" if self.apart is None else f"; a client's differs by {self.apart:.4f} at most"
        why = "; ".join(self.differs) or NOTHING
        return f"{name}: other bits: {row.measure} is {difference}{far}. What differs: {why}"


def named(rows: Sequence[Row], name: str) -> Row:
    """The row of that id, or of its first letters.

    Args:
        rows: Among which it is looked for.
        name: An id, or at least its first SHORTEST letters.

    Returns:
        The one row whose id begins so.

    Raises:
        FedkinError: There is none, several, or one that cannot be run again.
    """
    matches = {row.id: row for row in rows if row.id.startswith(name)}
    if len(name) < SHORTEST or not matches:
        raise FedkinError(
            f"no row has the id {name!r}: an id has twelve letters, of which the first "
            f"{SHORTEST} or more say which it is"
        )
    if len(matches) > 1:
        raise FedkinError(f"{name!r} begins {len(matches)} ids: write more of it")
    (row,) = matches.values()
    if row.missing:
        raise FedkinError(f"{row.id} cannot be repeated, for it was not run: {row.missing}")
    return row


def verify(
    row: Row, data_dir: str | None, trusted: bool = False, rows: Sequence[Row] = ()
) -> Verified:
    """Run a row again, in a folder that is removed afterwards.

    Args:
        row: From anywhere.
        data_dir: Data directory; None: that of FEDKIN_DATA.
        trusted: Whether code that it names may be imported.
        rows: Those of its file: who was helped and hurt is counted beside local's, and budgets are
            those of fedavg's.

    Returns:
        What its run came to now, beside what the row says.

    Raises:
        FedkinError: it cannot be run here: code that nobody trusts, no data, other data, an
            unknown method; or it names another run than its specification is of.
    """
    permit(row, trusted)
    if not row.content or not row.fingerprint:
        raise FedkinError(f"{row.id} cannot be repeated: it has no specification or fingerprint")
    check_against_spec(row)
    content = _as_measured(row, data_dir)
    with TemporaryDirectory(prefix="fedkin-verify-") as folder:
        done = run_trial(content, Path(folder) / "run", data_dir)
    again = filled(row, done, row.budgets)
    fingerprint, personal = str(done.found["fingerprint"]), done.seen.personal
    scores = {str(client): value for client, value in personal.items()}
    same = fingerprint == row.fingerprint
    same_clients = set(scores) == set(row.clients)
    both = [abs(scores[k] - row.clients[k]) for k in scores if k in row.clients]
    then = {"code": _told(row.code), "commit": {"commit": row.commit}}
    code = third_party_code(str(content["method"]["name"]), spec_of(content))
    now = {"code": _told(code), "commit": {"commit": commit()}}
    then |= {"versions": row.versions, "machine": row.machine}
    now |= {"versions": versions(), "machine": machine()}
    return Verified(
        row,
        same,
        fingerprint,
        sum(scores.values()) / max(1, len(scores)),
        max(both, default=0.0) if same_clients else None,
        tuple(differences(then, now)),
        tuple(mismatches(row, again, rows)) if same else (),
    )


def _told(code: Mapping[str, str]) -> dict[str, str]:
    return {f"code of {name}": digest for name, digest in code.items()}


def _as_measured(row: Row, data_dir: str | None) -> Content:
    """The row's specification, whose data have the digest that it tells. Rows of before [public]
    groups was a key took public samples one by one, and do not say so.

    Raises FedkinError for other data.
    """
    public, parted = row.content.get("public"), row.content
    if isinstance(public, dict) and "groups" not in public:
        parted = {**row.content, "public": {**public, "groups": "parted"}}
    for content in (row.content, parted):
        population = population_of(spec_of(content, data_dir), wanted=False)
        if not row.own_digest or population.digest()[:12] == row.own_digest:
            return content
    raise FedkinError(
        f"{row.id} cannot be repeated: the data of {row.setting} here are not those that it was "
        "run on"
    )


def permit(row: Row, trusted: bool) -> None:
    """Let this process import the method and the models of somebody's own that a row names.

    Args:
        row: From anywhere.
        trusted: Whether a person has said that its code may be imported.

    Raises:
        FedkinError: It names code that nobody trusts.
    """
    name = str(row.content.get("method", {}).get("name", ""))
    methods = [name] if is_user_code(name) else []
    models = code_of(spec_of(row.content)) if row.content else []
    if (methods or models) and not trusted:
        raise FedkinError(
            f"{row.id} names code ({some([*methods, *models], 3)}) that would run with your "
            "rights: if you trust where it comes from, say --trust-code"
        )
    allow(methods)
