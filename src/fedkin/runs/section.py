"""What every section of a specification is: its keys are known or belong to what it names, its
numbers are finite and no booleans, nothing changes.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator

from fedkin.core.counts import truth_for_number


class _Checked(BaseModel):
    """A section whose numbers are none where true or false stands: pydantic takes them for 1, 0."""

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth(cls, value: Any, info: ValidationInfo) -> Any:
        annotation = cls.model_fields[str(info.field_name)].annotation
        if truth_for_number(value, annotation):
            raise ValueError("it must be a number")
        return value


class Section(_Checked):
    """A section whose keys are all declared."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, validate_default=True, allow_inf_nan=False
    )


class OpenSection(_Checked):
    """A section whose further keys belong to what its ``name`` says."""

    model_config = ConfigDict(
        extra="allow", frozen=True, validate_default=True, allow_inf_nan=False
    )

    @property
    def options(self) -> dict[str, Any]:
        """The keys beyond the declared ones."""
        return dict(self.__pydantic_extra__ or {})
