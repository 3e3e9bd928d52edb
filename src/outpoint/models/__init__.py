"""Parameters: what data say about them given a DAG, and networks with drawn ones."""

from outpoint.models.averaging import Averaged, AveragedModel, MixedModel
from outpoint.models.model import NEEDS_MODEL, NetworkModel
from outpoint.models.network import Coding, Network

__all__ = [
    "NEEDS_MODEL",
    "Averaged",
    "AveragedModel",
    "Coding",
    "MixedModel",
    "Network",
    "NetworkModel",
]
