"""Why validation data say nothing of a finished run, in one sentence."""

from pathlib import Path

from fedkin.report.comparison.run_row import ComparedRun
from fedkin.report.records import opened
from fedkin.sweep.space import NO_VALIDATION

OF_ANY = ("accuracy", "loss", "log_loss")  # measures that are defined for every sample


def why_without_score(seen: ComparedRun, run: Path) -> str:
    """Whether clients have no validation samples, or none by which the measure is defined: AUC,
    say, where each client's are of one class.

    Args:
        seen: The run, whose ``validation`` is None.
        run: Its directory.

    Returns:
        A sentence that says what to do.
    """
    with opened(run) as record:
        validated = any(client.val for client in record.clients.values())
    if seen.measure in OF_ANY or not validated:
        return NO_VALIDATION
    return (
        f"no client's validation samples define {seen.measure}: choose another, such as "
        "--measure log_loss"
    )
