"""Models as they are typed: one, or several with commas between."""

from fedkin.core.errors import unknown
from fedkin.core.system.user_code import of_this_folder
from fedkin.runs.short_form import pieces


def typed_models(text: str) -> list[str]:
    """The models that a text names. After a comma ``key=value`` is another option of the last one.

    >>> typed_models("mlr,dnn:hidden=8"), typed_models("nets.py:Net:width=8,layers=2,mlr")
    (['mlr', 'dnn:hidden=8'], ['nets:Net:width=8,layers=2', 'mlr'])

    Args:
        text: Architectures, or ``package.module:Class``, each with options or without.

    Returns:
        One text each, at least one.

    Raises:
        FedkinError: One of several is no model.
    """
    from fedkin.models.build import MODELS

    several: list[str] = []
    for piece in pieces(text):
        key, equals, _ = piece.partition("=")
        if several and equals and ":" not in key:
            several[-1] += f",{piece}"
        else:
            several.append(piece)
    several = [of_this_folder(one) for one in several]
    for one in several if len(several) > 1 else []:
        if one not in MODELS and ":" not in one:
            raise unknown("model", one, [*MODELS, "package.module:Class"])
    return several
