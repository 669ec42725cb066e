"""What runs with noise have cost a node's data: a list beside the folders of its runs, which
outlives them, and the limit that its owner sets.
"""

import json
from pathlib import Path

from fedkin.core.errors import many, reason
from fedkin.engine.store import StoreError
from fedkin.flower.envelope import Refused, Request
from fedkin.flower.node.cost_of_spec import cost_of_spec, why_no_epsilon
from fedkin.flower.node.lines import add_lines
from fedkin.report.privacy_costs import PrivacyCost, costs_in_words, total_cost
from fedkin.runs.bounds import is_number
from fedkin.runs.spec import Spec

SPENT = "spent"  # a run a line, in the node's folder of states; of one the last line counts


class PrivacyLedger:
    """The runs with noise that a node took part in, whatever its data file was then.

    Args:
        state: The node's folder of states.
        most: ε that all of them may cost together; None: its owner set no limit.
    """

    def __init__(self, state: Path, most: float | None) -> None:
        self._path, self._most = state / SPENT, most

    def check(self, spec: Spec, request: Request) -> list[PrivacyCost]:
        """Decline a run that would cost more than the owner allows, and one that goes on with
        another experiment than it is in the list with, which has another cost.

        Args:
            spec: The experiment.
            request: Of its server.

        Returns:
            The runs that are in the list, for ``note``.

        Raises:
            Refused: It would, nobody here knows what it costs, or its experiment is another one.
            StoreError: The list cannot be read.
        """
        if not _counts(spec, request):
            return []
        runs = self.runs()
        if not _begun(runs, request) and self._most is not None:  # the accountant takes a second
            self._permit(spec, request, runs, cost_of_spec(request.run, spec))
        return runs

    def _permit(
        self, spec: Spec, request: Request, others: list[PrivacyCost], this: PrivacyCost
    ) -> None:
        """Raises Refused where a run, beside the others, costs more than the owner allows."""
        if self._most is None:
            return
        runs = [_anew(one, spec, request) for one in others]
        everything = [*runs, this]
        limit = f"max_epsilon = {self._most:g} in this node's node.toml"
        if any(one.epsilon is None for one in everything):
            raise Refused(
                f"{limit} cannot be held, since a node does not know what each run costs "
                f"({costs_in_words(everything)}): {_remedy(runs, spec)}"
            )
        if total_cost(everything)[0] > self._most:
            raise Refused(
                f"{limit} is less than this run would make it, {costs_in_words(everything)}"
            )

    def note(self, spec: Spec, request: Request, before: list[PrivacyCost], again: int = 0) -> None:
        """Write down, before anything is sent, that a run began, or that its server released a
        round once more, and say what it adds to.

        Args:
            spec: The experiment.
            request: Of its server; ``check`` let it pass.
            before: What ``check`` returned.
            again: Rounds that this node was told once more, with other noise of the server's.

        Raises:
            Refused: With these rounds the run costs more than the owner allows.
            StoreError: The list cannot be written.
        """
        if request.place is None or not _counts(spec, request):
            return
        again = 0 if spec.privacy.at_client else again
        known = next((one for one in before if one.run == request.run), None)
        if known is not None and again <= known.again:
            return
        others = [one for one in before if one is not known]
        this = cost_of_spec(request.run, spec, again)._replace(experiment=request.experiment)
        if known is not None:
            self._permit(spec, request, others, this)
        add_lines(self._path, [json.dumps(this._asdict())])
        what = f"released {many(again, 'round', 'rounds')} once more" if again else "begins"
        print(
            f"run {request.run} {what}; this node has been in {costs_in_words([*others, this])}",
            flush=True,
        )

    def runs(self) -> list[PrivacyCost]:
        """The runs that are in the list, in order.

        Returns:
            Each once, as it was noted last.

        Raises:
            StoreError: It cannot be read.
        """
        try:
            lines = self._path.read_text(encoding="ascii").splitlines()
            # a line that was cut off was written before its run began: nothing was sent
            whole = [line for line in lines if not line.startswith("{") or line.endswith("}")]
            runs = [_checked(PrivacyCost(**json.loads(line))) for line in whole]
            return list({one.run: one for one in runs}.values())
        except FileNotFoundError:
            return []
        except (OSError, ValueError, TypeError) as error:
            raise StoreError(f"{self._path} cannot be read: {reason(error)}") from None


def _checked(one: PrivacyCost) -> PrivacyCost:
    """A line's run: the node's owner may have written its ε, and a nan there would lift the limit.

    Raises ValueError where a number is none.
    """
    numbers = [value for value in (one.epsilon, one.delta) if value is not None]
    if not all(is_number(value) and value >= 0 for value in (*numbers, one.rounds, one.again)):
        raise ValueError(f"run {one.run} has a number that is none, or below 0: {tuple(one)}")
    return one


def _begun(runs: list[PrivacyCost], request: Request) -> bool:
    """Whether a run is in the list: the server chooses how it calls a run, so that the name alone
    tells nothing of what it costs.

    Raises Refused where it is there with another experiment.
    """
    for one in runs:
        if one.run != request.run:
            continue
        if one.experiment != request.experiment:
            raise Refused(
                f"run {one.run} began on this node with another experiment, of which its epsilon "
                "is: begin another run"
            )
        return True
    return False


def _anew(one: PrivacyCost, spec: Spec, request: Request) -> PrivacyCost:
    """A run of the list; where it was of the same experiment, and its ε was not known then, with
    what is known now: the extra ``privacy`` may have been installed since.
    """
    if one.epsilon is not None or one.experiment != request.experiment:
        return one
    return cost_of_spec(one.run, spec, one.again)._replace(experiment=one.experiment)


def _remedy(runs: list[PrivacyCost], spec: Spec) -> str:
    """What lets a limit hold where the ε of some run is not known."""
    if lacking := why_no_epsilon(spec):
        return f"on this node, {lacking}"
    if any(one.epsilon is None for one in runs):
        return (
            f"its owner may write the epsilon of such a run into its line of {SPENT}, in the "
            "node's folder of states, or take max_epsilon out"
        )
    return "its owner may take max_epsilon out"


def _counts(spec: Spec, request: Request) -> bool:
    """Whether a request is of a run that costs this node's data ε.

    A newcomer's data are in no model of the run. Where the server adds the noise, a question about
    the node's data does not say yet whether it is a newcomer.
    """
    if not spec.privacy.on or not request.run:
        return False
    return spec.privacy.at_client if request.place is None else request.place.joined is None
