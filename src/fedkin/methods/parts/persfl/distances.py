"""How far a student's softened outputs are from its teacher's, by the name of the objective.

Arguments are log-probabilities [rows, classes], the teacher's σ(O/T) and the student's σ(A/T).
"""

from torch import Tensor


def kl(teacher: Tensor, student: Tensor) -> Tensor:
    """KL(σ(O/T) ‖ σ(A/T)) of each row (Algorithm 1, line 20).

    Args:
        teacher: log σ(O/T).
        student: log σ(A/T).

    Returns:
        [rows], in nats.
    """
    return (teacher.exp() * (teacher - student)).sum(1)


def reverse_kl(teacher: Tensor, student: Tensor) -> Tensor:
    """KL(σ(A/T) ‖ σ(O/T)) of each row (eq. 3).

    Args:
        teacher: log σ(O/T).
        student: log σ(A/T).

    Returns:
        [rows], in nats.
    """
    return kl(student, teacher)


def cross_entropy(teacher: Tensor, student: Tensor) -> Tensor:
    """Cross-entropy between softened outputs of each row (eq. 7, PersFL-GD).

    Args:
        teacher: log σ(O/T).
        student: log σ(A/T).

    Returns:
        [rows], in nats.
    """
    return -(teacher.exp() * student).sum(1)


DISTANCES = {"kl": kl, "reverse_kl": reverse_kl, "gd": cross_entropy}
