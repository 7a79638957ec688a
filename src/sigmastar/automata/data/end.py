"""The end of a string, where it stands among next symbols."""

from __future__ import annotations


class _End:
    """There is one, `END`; it equals itself alone, copied and pickled too."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "END"

    def __reduce__(self) -> str:
        return "END"


END = _End()
"""The end of the string among next symbols: no symbol of an alphabet is equal to it."""
