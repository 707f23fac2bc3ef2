"""Runtime capability creation: an agent writes, checks and keeps its own extensions."""

from .capability import CapabilityCreation
from .manifest import AuthoredCapability, CapabilityFailure, CapabilityVersion, Status
from .store import CapabilityStore

__all__ = [
    'AuthoredCapability',
    'CapabilityCreation',
    'CapabilityFailure',
    'CapabilityStore',
    'CapabilityVersion',
    'Status',
]
