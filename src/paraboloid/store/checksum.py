"""The checksum of one event."""

import zlib

__all__ = ["checksum"]


def checksum(sequence: int, when: str, kind: str, trial: int | None, payload: str) -> int:
    """Return the CRC-32 by which a flipped byte in a row is noticed.

    >>> checksum(1, "2026-01-01", "told", None, "{}") == checksum(1, "2026-01-01", "told", None, "{ }")
    False
    """
    return zlib.crc32(f"{sequence}|{when}|{kind}|{'' if trial is None else trial}|{payload}".encode())
