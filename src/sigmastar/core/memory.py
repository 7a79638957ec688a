"""How much memory may be taken, and refusing in time what would take more.

Linux promises memory that it does not have and then ends the process. Inside `limited` an allocation above
the limit is a `MemoryError` instead, and work whose size is known beforehand asks `require_memory` before it
begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from sigmastar.core.errors import InputError

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_LEAST = 256 << 20  # below this the interpreter and its libraries do not fit
_RESERVE = 256 << 20  # left to everything else on the machine
_CONTROL_GROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")

_LIMIT: ContextVar[int | None] = ContextVar("memory", default=None)


def parsed_size(text: str) -> int:
    """A number of bytes, written with a unit.

    Parameters
    ----------
    text : str
        Such as 500M or 2G.

    Returns
    -------
    int
        Bytes.

    Examples
    --------
    >>> parsed_size("2G"), parsed_size("512 MB")
    (2147483648, 536870912)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?\s*", text, re.IGNORECASE)
    if found is None:
        raise ValueError(f"{text!r} is no size; write it as 500M or 2G")
    size = int(float(found[1]) * _UNITS[found[2].upper()])
    if size < _LEAST:
        raise ValueError(f"{text} is too little; the least is {written_size(_LEAST)}")
    return size


def written_size(n_bytes: float) -> str:
    """A size for people: two digits and a unit."""
    for unit, factor in reversed(_UNITS.items()):
        if n_bytes >= factor:
            return (
                f"{n_bytes / factor:.2g} {unit}B"
                if n_bytes < 100 * factor
                else f"{n_bytes / factor:.0f} {unit}B"
            )
    return f"{n_bytes:.0f} B"


def free_memory() -> int:
    """Bytes that this process may still take: the limit around, the container's, or what the machine has."""
    limit = _LIMIT.get()
    return _free_on_machine() if limit is None else min(limit - _taken(), _free_on_machine())


def require_memory(n_bytes: float, work: str, remedy: str) -> None:
    """Refuse work that would take more memory than there is.

    Parameters
    ----------
    n_bytes : float
        An estimate of what it takes.
    work : str
        What it is, as in "the table of 30,000 symbols and 500 states".
    remedy : str
        What to do instead, as in "use fewer --states".
    """
    free = free_memory()
    if n_bytes > free:
        raise InputError(
            f"{work} needs about {written_size(n_bytes)}, {written_size(max(free, 0))} are free; {remedy}"
        )


@contextmanager
def limited(n_bytes: int | None = None) -> Iterator[int]:
    """Keep the process below a size: an allocation beyond it is a `MemoryError`.

    Parameters
    ----------
    n_bytes : int or None
        The size; None: what the process has and the machine has free.

    Yields
    ------
    int
        The limit.
    """
    size = _taken() + _free_on_machine() if n_bytes is None else n_bytes
    token = _LIMIT.set(size)
    try:
        with _enforced(size):
            yield size
    finally:
        _LIMIT.reset(token)


@contextmanager
def _enforced(size: int) -> Iterator[None]:
    try:
        import resource  # not on Windows
    except ImportError:
        yield
        return
    before, hard = resource.getrlimit(resource.RLIMIT_DATA)
    allowed = [limit for limit in (size, before, hard) if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min(allowed), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, hard))


def _taken() -> int:
    """Private memory of this process, in bytes."""
    fields = _numbers("/proc/self/status")
    return 1024 * fields.get("VmData", 0)


def _free_on_machine() -> int:
    fields = _numbers("/proc/meminfo")
    found = [1024 * fields["MemAvailable"] - _RESERVE] if "MemAvailable" in fields else []
    for name in _CONTROL_GROUPS:
        text = _content(name).strip()
        if text.isdecimal() and int(text) < 1 << 60:
            found.append(int(text) - _RESERVE)
    return min(found, default=1 << 60)


def _numbers(path: str) -> dict[str, int]:
    """Lines such as `MemAvailable:  1024 kB`."""
    found = re.findall(r"^(\w+):\s+(\d+)", _content(path), re.MULTILINE)
    return {name: int(number) for name, number in found}


def _content(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
