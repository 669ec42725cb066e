"""[privacy] of a specification: differential privacy of each client, or of each sample."""

import math
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from pydantic import field_serializer, field_validator, model_validator

from fedkin.runs.section import Section

LEAST_NOISE = 0.01  # in clips: below it ε is in the thousands after one round
# Of a noise or a clip: beyond it single precision has nothing left of a model; and of a clip the
# other end: what is shorter changes no weight
MOST, LEAST_CLIP = 1e9, 1e-9
LARGEST_EPSILON = 100.0
# The accountant cuts off events of 1e-15: of a δ near them it says that ε is infinite
LEAST_DELTA = 1e-12


class NoiseTarget(Section):
    """What the noise shall give: ``noise = {epsilon = 8, delta = 1e-5}``."""

    epsilon: float
    delta: float


class ClipTarget(Section):
    """A clip that follows the updates: ``clip = {quantile = 0.5, start = 0.1, lr = 0.2}``.

    quantile: the share of updates that shall not be longer than the clip. start: the first round's.
    lr: how fast it follows. The defaults are those of Andrew et al., 2021.
    """

    quantile: float
    start: float = 0.1
    lr: float = 0.2


class SecureAggregation(Section):
    """Masks on updates: ``secure_aggregation = {threshold = 7}``.

    threshold: participants without whom a round is refused; default: more than two thirds.
    """

    threshold: int | None = None


class PrivacySection(Section):
    """[privacy] each client's update, or the gradient of each sample, is clipped and noised, so
    that nobody learns from the models whether a client took part, or had a sample.
    """

    noise: float | NoiseTarget | None = None  # standard deviation in clips, or { epsilon, delta }
    unit: Literal["client", "sample"] = "client"  # whose presence is hidden
    # the largest norm of an update, or of a sample's gradient; of updates also { quantile }
    clip: float | ClipTarget | None = None
    # of samples: whether steps of which nothing is sent are clipped and noised, too
    personal: Literal["protected", "plain"] = "protected"
    delta: float | None = None  # δ, from 1e-12, and below 1 / clients or 1 / samples of a client
    # who adds it to updates; "distributed": each client a share, under masks
    where: Literal["server", "client", "distributed"] = "server"
    budget: float | None = None  # ε at which the run ends
    seeded: bool = False  # for tests: noise, and keys, that everybody can compute
    # true, or { threshold }: the server sees sums of updates, and no update
    secure_aggregation: SecureAggregation | None = None

    @property
    def on(self) -> bool:
        """Whether anything is protected."""
        return self.noise is not None

    @property
    def asked_delta(self) -> float | None:
        """δ, whether it stands beside a multiplier or in a target; None where nothing is noised."""
        return self.noise.delta if isinstance(self.noise, NoiseTarget) else self.delta

    @field_serializer("noise", "clip")
    def _written(self, value: Any) -> Any:
        return value.model_dump() if isinstance(value, Section) else value

    @property
    def at_client(self) -> bool:
        """Whether clients add the noise themselves."""
        return self.on and (self.unit == "sample" or self.where != "server")

    @property
    def surviving(self) -> float:
        """The least share of a round's noise that is in its sum: 1, but where each client adds a
        part of it. A round under masks has more than two thirds of its participants, or more than
        half where a threshold was chosen.
        """
        if not self.on or self.unit == "sample" or self.where != "distributed":
            return 1.0
        chosen = self.secure_aggregation is not None and self.secure_aggregation.threshold
        return 1 / 2 if chosen else 2 / 3

    @property
    def of_samples(self) -> bool:
        """Whether each sample is protected."""
        return self.on and self.unit == "sample"

    @property
    def plain_at_home(self) -> bool:
        """Whether work of which nothing is sent goes without noise."""
        return self.of_samples and self.personal == "plain"

    @field_validator("noise", mode="plain", json_schema_input_type=float | NoiseTarget | None)
    @classmethod
    def _noise(cls, value: Any) -> float | NoiseTarget | None:
        if value is None or isinstance(value, NoiseTarget):
            return value
        if isinstance(value, dict):
            return _target(value)
        if isinstance(value, str):
            raise ValueError("write a number, or {epsilon = 8, delta = 1e-5}")
        noise = _above_zero("noise", value)
        if noise < LEAST_NOISE:
            raise ValueError(
                f"so little noise hides nothing, ε is in the thousands: it must be at least "
                f"{LEAST_NOISE:g}"
            )
        if noise > MOST:
            raise ValueError(
                f"so much noise leaves nothing of a model: it must be at most {MOST:g}"
            )
        return noise

    @field_validator(
        "secure_aggregation", mode="before", json_schema_input_type=bool | SecureAggregation | None
    )
    @classmethod
    def _masks(cls, value: Any) -> "SecureAggregation | None":
        if value is None or isinstance(value, SecureAggregation):
            return value
        if isinstance(value, bool):
            return SecureAggregation() if value else None
        if isinstance(value, dict) and set(value) <= {"threshold"}:
            return SecureAggregation(threshold=_participants(value.get("threshold")))
        raise ValueError("write true, or {threshold = 7}, a number of participants")

    @field_validator("clip", mode="plain", json_schema_input_type=float | ClipTarget | None)
    @classmethod
    def _clip(cls, value: Any) -> float | ClipTarget | None:
        if value is None or isinstance(value, ClipTarget):
            return value
        return _followed(value) if isinstance(value, dict) else _norm("it", value)

    @field_validator("budget", mode="plain", json_schema_input_type=float | None)
    @classmethod
    def _budget(cls, value: Any) -> float | None:
        return None if value is None else _above_zero("it", value)

    @field_validator("delta", mode="plain", json_schema_input_type=float | None)
    @classmethod
    def _delta(cls, value: Any) -> float | None:
        return None if value is None else _chance(value)

    @model_validator(mode="after")
    def _whole(self) -> "PrivacySection":
        if self.noise is None:
            apart = {"secure_aggregation", *({"seeded"} if self.secure_aggregation else ())}
            settings = sorted(self.model_fields_set - {"noise", *apart})
            plain = type(self).model_fields
            if any(getattr(self, name) != plain[name].default for name in settings):
                raise ValueError(
                    f"{settings[0]} protects nobody without noise: set privacy.noise, such as "
                    "1.0 or {epsilon = 8, delta = 1e-5}"
                )
            return self
        if self.clip is None:
            raise ValueError("noise needs privacy.clip, the largest norm of an update, such as 1.0")
        if isinstance(self.clip, ClipTarget) and self.at_client:
            clip = "the norm of a gradient" if self.unit == "sample" else "the norm of an update"
            raise ValueError(
                "the server moves a clip along a quantile, where it adds the noise to the sum of "
                f"updates: set where = 'server' and unit = 'client', or give clip a number, {clip}"
            )
        if self.personal == "plain" and self.unit == "client":
            raise ValueError(
                "personal = 'plain' is for unit = 'sample': with unit = 'client' only what is sent "
                "has noise, and personal models have none"
            )
        if self.where == "distributed" and self.secure_aggregation is None:
            raise ValueError(
                "where = 'distributed' gives each update a share of the noise, which hides nothing "
                "without masks: set privacy.secure_aggregation = true, or where = 'client'"
            )
        if isinstance(self.noise, NoiseTarget):
            if self.delta is not None and self.delta != self.noise.delta:
                raise ValueError("delta stands there twice: leave it in noise alone")
        elif self.delta is None:
            raise ValueError("a noise multiplier needs privacy.delta, such as 1e-5, to say ε")
        return self


def _target(value: dict[str, Any]) -> NoiseTarget:
    if set(value) != {"epsilon", "delta"}:
        wrong = [f"no {key}" for key in ("epsilon", "delta") if key not in value]
        wrong += [f"unknown key {key!r}" for key in value if key not in ("epsilon", "delta")]
        raise ValueError(f"{', '.join(wrong)}: write a number, or {{epsilon = 8, delta = 1e-5}}")
    epsilon = _as_given(partial(_above_zero, "epsilon"), value["epsilon"])
    delta = _as_given(_chance, value["delta"])
    if epsilon > LARGEST_EPSILON:
        raise ValueError(
            f"such an epsilon promises nothing: it must be at most {LARGEST_EPSILON:g}"
        )
    return NoiseTarget(epsilon=epsilon, delta=delta)


def _followed(value: dict[str, Any]) -> ClipTarget:
    if "quantile" not in value or not set(value) <= set(ClipTarget.model_fields):
        raise ValueError("write a norm, or {quantile = 0.5, start = 0.1, lr = 0.2}")
    checks = {"start": _norm}
    found = {
        name: _as_given(partial(checks.get(name, _above_zero), name), of)
        for name, of in value.items()
    }
    if found["quantile"] >= 1:
        raise ValueError(f"quantile must be above 0 and below 1, not {value['quantile']!r}")
    if found.get("lr", 0.0) > 1:
        raise ValueError(f"lr must be at most 1, so that the clip settles, not {value['lr']!r}")
    return ClipTarget(**found)


def _as_given(check: Callable[[Any], float], value: Any) -> float:
    """A checked number; where it is none, the message has what was given."""
    try:
        return check(value)
    except ValueError as error:
        raise ValueError(f"{error}, not {value!r}") from None


def _participants(value: Any) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise ValueError("threshold must be a number of participants, such as 7")
    return value


def _above_zero(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} must be a number above 0")
    if not 0 < value < math.inf:
        raise ValueError(f"{name} must be a number above 0")
    return float(min(value, sys.float_info.max))  # a whole number may be larger than any float


def _norm(name: str, value: Any) -> float:
    norm = _above_zero(name, value)
    if not LEAST_CLIP <= norm <= MOST:
        raise ValueError(f"{name} must be from {LEAST_CLIP:g} to {MOST:g}")
    return norm


def _chance(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise ValueError("delta must be above 0 and below 1")
    if value < LEAST_DELTA:
        raise ValueError(f"no epsilon is known of so small a delta: take {LEAST_DELTA:g} or more")
    return float(value)
