"""Addresses of a deployment: what nodes dial, what the SuperLink listens on, what this machine
alone can reach.
"""

import ipaddress
import socket

from fedkin.core.errors import FedkinError

EVERYWHERE = ("0.0.0.0", "::")


def host_of(address: str) -> str:
    """The host of host:port.

    Args:
        address: As it was typed.

    Returns:
        Without the brackets of IPv6.

    Raises:
        FedkinError: It is no host:port.
    """
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise FedkinError(f"address {address!r} is not host:port")
    return host.strip("[]")


def check_dialled(address: str, named: str, listen: str | None) -> None:
    """Refuse an address that stands for all of a machine: on a node it is the node's own.

    Args:
        address: host:port of the SuperLink, as nodes dial it.
        named: The option or the key that gave it, with its file.
        listen: How to say where the SuperLink listens, {} for the host; None on a node.

    Raises:
        FedkinError: It is one, or no host:port.
    """
    host = host_of(address)
    try:
        everywhere = ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return
    if everywhere:
        apart = (
            listen and f"; {listen.format(host)} lets the SuperLink listen on all of its machine"
        )
        raise FedkinError(
            f"{named}: nodes cannot dial {address}, give the address that they reach{apart or ''}"
        )


def loopback(address: str) -> bool:
    """Whether host:port is of this machine only.

    Args:
        address: host:port.

    Returns:
        True of 127.0.0.0/8, ::1 and localhost.

    Raises:
        FedkinError: It is no host:port.
    """
    host = host_of(address)
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_insecure(address: str, what: str) -> None:
    """Refuse an address without TLS and keys that can be reached from elsewhere.

    Args:
        address: host:port.
        what: The option or the key that asks for it.

    Raises:
        FedkinError: It is not of this machine only.
    """
    if not loopback(address):
        raise FedkinError(
            f"{what} is for this machine alone, and {host_of(address)} is not a loopback address: "
            "leave it out"
        )


def listening(address: str, listen: str | None) -> str:
    """The host that the SuperLink binds: the one that is named, not all that this machine has.

    Args:
        address: host:port, as nodes dial it.
        listen: The host to bind, if another; None: that of the address.

    Returns:
        The name or IP address that was tried: it can be bound.

    Raises:
        FedkinError: It is none of this machine's.
    """
    host = listen or host_of(address)
    try:
        family = socket.getaddrinfo(host, None)[0][0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.bind((host, 0))
    except OSError as error:
        raise FedkinError(
            f"the SuperLink cannot listen on {host} ({error.strerror}): name an address of this "
            'machine as listen in deployment.toml, or listen = "0.0.0.0" for all it has'
        ) from None
    return host


def local_address(address: str, listen: str | None) -> str:
    """host:port by which this machine reaches its own SuperLink.

    Args:
        address: host:port, as nodes dial it.
        listen: The host that it binds, if another; None: that of the address.

    Returns:
        host:port.
    """
    host = listen or host_of(address)
    host = "127.0.0.1" if host in EVERYWHERE else host
    return f"{f'[{host}]' if ':' in host else host}:{address.rpartition(':')[2]}"
