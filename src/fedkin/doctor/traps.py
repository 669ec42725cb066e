"""What goes wrong by default: one sentence each."""

from collections.abc import Callable

from fedkin.core.tree import is_buffer
from fedkin.doctor.data import public_apart
from fedkin.doctor.data_checks import data_notes
from fedkin.doctor.features import too_many_classes
from fedkin.engine.round.federation import participants_of
from fedkin.setup.build import Assembled
from fedkin.setup.remarks import remarks

FAR = 0.25  # pooled deviations between public and private means
GROUPS = ("clusters", "models", "components")  # hyper-parameters that say how many groups there are


def traps_of(parts: Assembled) -> list[str]:
    """The traps that this experiment is in; [] where it is in none.

    Args:
        parts: The experiment's objects.

    Returns:
        A sentence a trap.
    """
    known = [sentence for trap in TRAPS if (sentence := trap(parts))]
    return [*known, *remarks(parts), *data_notes(parts.spec)]


def _batch_norm(parts: Assembled) -> str:
    normed = [
        name
        for name, model in parts.models.items()
        if any(is_buffer(leaf) for leaf in model.initial)
    ]
    if not normed or parts.spec.model.buffers != "global" or len(parts.infos) < 2:
        return ""
    return (
        f"{normed[0]} has batch norm and its statistics are averaged over clients: with "
        "unlike clients they fit none; "
        'try model.buffers = "local"'
    )


def _too_many_groups(parts: Assembled) -> str:
    people = participants_of(parts.federation)
    for name in GROUPS:
        wanted = parts.method.hyper.get(name)
        if isinstance(wanted, int) and wanted > people:
            return (
                f"method.{name} is {wanted}, and a round has {people} participants: groups "
                "will be empty"
            )
        if isinstance(wanted, int) and wanted > 1 and people / wanted < 2:
            return (
                f"method.{name} is {wanted} for {people} participants a round: fewer than "
                "two clients a group"
            )
    return ""


def _small_clients(parts: Assembled) -> str:
    size = parts.spec.train.batch_size
    small = [info for info in parts.infos.values() if info.samples < size]
    if not small:
        return ""
    return (
        f"{len(small)} of {len(parts.infos)} clients have fewer training samples than a batch "
        f"({size}): each of their "
        "steps sees all they have; lower train.batch_size"
    )


def _no_validation(parts: Assembled) -> str:
    without = sum(not len(rows) for rows in parts.population.val)
    if not without:
        return ""
    return (
        f"{without} of {len(parts.infos)} clients have no validation samples: nothing can "
        "be chosen for them"
    )


def _untested(parts: Assembled) -> str:
    few = sum(0 < len(rows) < 5 for rows in parts.population.test)
    if 2 * few < len(parts.infos):
        return ""
    return (
        f"{few} of {len(parts.infos)} clients have fewer than 5 test samples: their "
        "accuracies are coarse"
    )


def _public(parts: Assembled) -> str:
    apart = public_apart(parts.population)
    if apart is None or apart < FAR:
        return ""
    return (
        f"the public set lies {apart:.2f} standard deviations from the clients' data (root "
        "mean square over features): "
        'predictions on it may say little; public.source = "held-out" takes samples of the '
        "same data"
    )


def _rarely_drawn(parts: Assembled) -> str:
    spec = parts.spec
    each = spec.run.rounds * participants_of(parts.federation) / len(parts.infos)
    if each >= 5:
        return ""
    larger = (
        ", or a larger run.participation"
        if participants_of(parts.federation) < len(parts.infos)
        else ""
    )
    return f"a client takes part in {each:.1f} rounds on average: ask for more rounds{larger}"


def _no_verdict(parts: Assembled) -> str:
    return too_many_classes(parts.population)


TRAPS: tuple[Callable[[Assembled], str], ...] = (
    _batch_norm,
    _too_many_groups,
    _small_clients,
    _no_validation,
    _untested,
    _public,
    _rarely_drawn,
    _no_verdict,
)
