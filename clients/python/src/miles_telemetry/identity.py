"""Who this process is in the run: its host, its GPUs and its rank, by the rules that the job itself follows.

A lane of the timeline is one (node, gpu), so what is found here has to equal what samplers and engines say: the host by the
address that Ray knows it by, the GPU by its physical index. What the caller says goes before everything; Ray and torch are
asked only if the process has imported them already.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

Role = Literal["train", "rollout_manager"]

TRAIN: Final = "train"
ROLLOUT_MANAGER: Final = "rollout_manager"

# Ray finds its own address by the route to this one; nothing is sent there.
_PROBE: Final = ("8.8.8.8", 53)


@dataclass(frozen=True)
class Identity:
    """What a phase carries besides its name and times."""

    node: str
    gpus: tuple[int, ...]
    rank: int
    role: Role


class Resolver:
    """Finds the identity when it is first needed, and again until it is settled."""

    def __init__(self, role: Role, node: str | None = None, gpus: Sequence[int] | None = None, rank: int | None = None) -> None:
        self.role: Role = role
        self._node = node
        self._gpus = None if gpus is None else tuple(int(gpu) for gpu in gpus)
        self._rank = None if rank is None else int(rank)
        self._found: Identity | None = None
        self._found_by = 0
        self._address = ""

    def identity(self) -> Identity:
        """The identity as far as it can be known now."""
        found = self._found
        # A child process that was forked can be another rank.
        if found is None or self._found_by != os.getpid():
            found = self._find()
            # Sinks are attached before torch.distributed is: a trainer without a rank asks again at its next phase.
            if found.role == ROLLOUT_MANAGER or (found.rank >= 0 and found.gpus):
                self._found, self._found_by = found, os.getpid()
        return found

    def as_role(self, role: Role) -> Resolver:
        """The same process in another role."""
        return Resolver(role, self._node, self._gpus, self._rank)

    def _find(self) -> Identity:
        # Asked once, as it costs system calls, and again only when Ray is there to know better.
        if not self._address or _ray() is not None:
            self._address = self._node or node_address()
        node = self._address
        if self.role == ROLLOUT_MANAGER:
            return Identity(node, (), -1, self.role)
        gpus = visible_gpus() if self._gpus is None else self._gpus
        rank = process_rank() if self._rank is None else self._rank
        return Identity(node, gpus, rank, self.role)


def node_address() -> str:
    """The host's address as Ray reports it: without Ray, that of the interface towards the outside."""
    told = os.environ.get("MILES_NODE")
    if told:
        return told
    ray = _ray()
    address = _ask(lambda: str(ray.util.get_node_ip_address())) if ray is not None else None
    return (address or _outward_address()).strip("[]")


def _outward_address() -> str:
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(_PROBE)
            return str(probe.getsockname()[0])
    except OSError:
        pass
    try:
        return socket.gethostbyname(socket.getfqdn(socket.gethostname()))
    except OSError:
        return "127.0.0.1"


def visible_gpus() -> tuple[int, ...]:
    """Physical indices of this process's GPUs: those that Ray gave it, else the one of its local rank among
    CUDA_VISIBLE_DEVICES. Empty when they cannot be told, as with UUIDs there."""
    ray = _ray()
    if ray is not None:
        given: tuple[int, ...] | None = _ask(lambda: tuple(int(gpu) for gpu in ray.get_gpu_ids()))
        if given:
            return given
    local = _number("LOCAL_RANK")
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return () if local is None else (local,)
    devices = [device.strip() for device in visible.split(",") if device.strip()]
    if len(devices) > 1 and local is not None and local < len(devices):
        devices = [devices[local]]
    if not all(device.isdecimal() for device in devices):
        return ()
    return tuple(int(device) for device in devices)


def process_rank() -> int:
    """The global rank by torch.distributed, else by the launcher's RANK; -1 when neither knows."""
    dist: Any = sys.modules.get("torch.distributed")
    if dist is not None:
        known: int | None = _ask(lambda: int(dist.get_rank()) if dist.is_available() and dist.is_initialized() else None)
        if known is not None:
            return known
    told = _number("RANK")
    return -1 if told is None else told


def _ray() -> Any:
    ray: Any = sys.modules.get("ray")
    return ray if ray is not None and _ask(ray.is_initialized) else None


def _ask(question: Callable[[], Any]) -> Any:
    """The answer of somebody else's code, or None."""
    try:
        return question()
    except Exception:  # half-initialised modules raise anything
        return None


def _number(name: str) -> int | None:
    text = os.environ.get(name, "")
    return int(text) if text.isdecimal() else None
