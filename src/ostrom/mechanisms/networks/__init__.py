"""Networks: who is a neighbour of whom in a society. One file each, found by name."""

from ostrom.ground.registry import Registry
from ostrom.mechanisms.networks._base import Links, Network, pairs_of

networks: Registry[Network] = Registry(
    "network",
    "ostrom.mechanisms.networks",
    "NETWORK",
    "ostrom.networks",
    folder="networks",
    code="ostrom.ground.python_files",
)

__all__ = ["Links", "Network", "networks", "pairs_of"]
