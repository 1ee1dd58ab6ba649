"""The file of a study: an append-only log in SQLite, its holder, its versions, and what can be saved from damage."""

from paraboloid.store.errors import (
    StorageFull,
    StoreError,
    StudyBusy,
    StudyDamaged,
    StudyHeld,
    StudyReadOnly,
    VersionMismatch,
)
from paraboloid.store.holder import Holder
from paraboloid.store.inspection import salvage
from paraboloid.store.log import Event, EventLog
from paraboloid.store.place import Place, is_network_filesystem, this_place, uptime
from paraboloid.store.schema import VERSION

__all__ = [
    "VERSION",
    "Event",
    "EventLog",
    "Holder",
    "Place",
    "StorageFull",
    "StoreError",
    "StudyBusy",
    "StudyDamaged",
    "StudyHeld",
    "StudyReadOnly",
    "VersionMismatch",
    "is_network_filesystem",
    "salvage",
    "this_place",
    "uptime",
]
