"""The method with what an experiment puts around it: transforms, noise, secure aggregation."""

from collections.abc import Mapping
from dataclasses import replace

from fedkin.core.errors import FedkinError
from fedkin.core.method import ClientInfo, Method
from fedkin.core.rng import Secret
from fedkin.engine.round.federation import Federation, participants_among, participants_of
from fedkin.runs.privacy import ClipTarget
from fedkin.runs.spec import Spec
from fedkin.setup.privacy import check_privacy
from fedkin.setup.requirements import methods_with_a_sum
from fedkin.transforms.private import Guarantee, keep_private
from fedkin.transforms.protected.adaptive_clip import ClipQuantile
from fedkin.transforms.registry import TransformEntry, compressing, transformed
from fedkin.transforms.setting import Setting
from fedkin.transforms.under_masks import check_uncompressed, sum_under_masks


def transformed_by(spec: Spec, method: Method, federation: Federation) -> Method:
    """The method with [[transforms]] and [privacy] around it.

    Args:
        spec: The specification.
        method: The method that clients run.
        federation: Its clients.

    Returns:
        The changed method.

    Raises:
        FedkinError: Transforms, noise or masks do not go with the method, the federation, or each
            other.
    """
    changed = _changed(
        spec, method, federation.infos, participants_of(federation), federation.participation
    )
    return _summed(spec, *changed, federation.threshold)


def transformed_at_node(
    spec: Spec, method: Method, info: ClientInfo, clients: int, threshold: int | None = None
) -> Method:
    """``transformed_by`` as a node makes it, which knows one of so many clients: its part of it
    counts.

    Args:
        spec: The specification.
        method: The method that clients run.
        info: What the node's client knows of itself.
        clients: How many the federation has.
        threshold: Of secure aggregation; None: there are no masks.

    Returns:
        The changed method.

    Raises:
        FedkinError: As ``transformed_by``; or the noise is a target, not a multiplier.
    """
    share = spec.run.participation
    changed = _changed(
        spec, method, {info.client: info}, participants_among(share, clients), share, clients
    )
    return _summed(spec, *changed, threshold)


def _summed(spec: Spec, method: Method, setting: Setting, threshold: int | None) -> Method:
    """The method as masks need it, where there are any."""
    if threshold is None:
        return method
    check_uncompressed(compressing([one.name for one in spec.transforms]))
    return sum_under_masks(method, setting, threshold)


def _changed(
    spec: Spec,
    method: Method,
    infos: Mapping[int, ClientInfo],
    participants: int,
    share: float,
    clients: int | None = None,
) -> tuple[Method, Setting]:
    setting = Setting(
        len(infos) if clients is None else clients,
        participants,
        share,
        spec.run.seed,
        methods_with_a_sum,
        infos,
    )
    if not spec.transforms and not spec.privacy.on:
        return method, setting

    def noised(method: Method) -> Method:
        privacy = spec.privacy
        if privacy.of_samples or privacy.clip is None or privacy.noise is None:
            return method
        if not isinstance(privacy.noise, float):
            raise FedkinError(
                "privacy.noise is a target, and nodes take a multiplier: make the folders anew "
                "with fedkin deploy init, which writes it"
            )
        shared = privacy.where == "distributed"
        parts = setting.participants if shared else 1
        noise = privacy.noise / parts**0.5
        guarantee = Guarantee(1.0, noise, privacy.at_client, shared)
        private = keep_private(method, setting, _clipping(guarantee, privacy.clip))
        check_privacy(spec, setting.clients, method.needs.sampling)
        return private

    listed = [TransformEntry(transform.name, transform.options) for transform in spec.transforms]
    return transformed(method, listed, setting, noised), setting


def _clipping(guarantee: Guarantee, clip: float | ClipTarget) -> Guarantee:
    """The guarantee with the clip that was asked for, a norm or a quantile of norms."""
    if isinstance(clip, ClipTarget):
        quantile = ClipQuantile(clip.quantile, clip.start, clip.lr)
        return guarantee._replace(clip=clip.start, quantile=quantile)
    return guarantee._replace(clip=clip)


def with_given_secret(federation: Federation, given: tuple[str, bool] | None) -> Federation:
    """The federation with the secret that a worker was sent: its key and whether it is seeded.

    Args:
        federation: Without a secret.
        given: (32 bytes as hexadecimal digits, whether it is seeded); None: no noise is at clients.

    Returns:
        A federation with that secret; ``federation`` itself where there is none.
    """
    return (
        federation
        if given is None
        else with_secret(federation, Secret(bytes.fromhex(given[0]), given[1]))
    )


def with_secret(federation: Federation, secret: Secret) -> Federation:
    """The federation whose noise comes from a secret.

    Args:
        federation: Any one.
        secret: What all noise is drawn from.

    Returns:
        A copy, whose server tools have it too.
    """
    tools = replace(federation.tools, secret=secret)
    return federation._replace(secret=secret, tools=tools)
