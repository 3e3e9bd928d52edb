"""Parameters: what data say about them given a DAG, and networks with drawn ones."""

from outpoint.models.averaging import AveragedModel
from outpoint.models.coding import Coding
from outpoint.models.model import NEEDS_MODEL, NetworkModel
from outpoint.models.network import Network

__all__ = ["NEEDS_MODEL", "AveragedModel", "Coding", "Network", "NetworkModel"]
