"""How much memory a run took beyond what its process had before it (Linux only; elsewhere unknown)."""

import gc
from pathlib import Path

STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def _megabytes(field: str) -> float | None:
    """Return a field of the process's status, such as ``VmHWM``, its greatest resident size."""
    try:
        text = STATUS.read_text(encoding="ascii")
    except OSError:
        return None
    found = [line.split()[1] for line in text.splitlines() if line.startswith(field + ":")]
    return float(found[0]) / 1024 if found else None


class PeakMemory:
    """Growth of the greatest resident size since this object was made."""

    def __init__(self) -> None:
        gc.collect()
        gc.freeze()  # what is alive now is a package or a cache: later collections need not look at it
        try:
            RESET.write_text("5", encoding="ascii")  # the kernel forgets the greatest size so far
            self._before = _megabytes("VmRSS")
        except OSError:
            self._before = None

    def grown(self) -> float | None:
        """Return megabytes, at least 0, or None where the system does not say."""
        peak = _megabytes("VmHWM")
        if self._before is None or peak is None:
            return None
        return round(max(0.0, peak - self._before), 2)
