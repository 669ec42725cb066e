"""What every section of a specification is: its keys are known, its numbers finite, nothing
changes.
"""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A section whose keys are all declared."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, validate_default=True, allow_inf_nan=False
    )
