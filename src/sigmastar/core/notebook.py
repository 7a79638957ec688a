"""Pictures in notebooks: what a record of a family draws of an object, where the object is shown.

Models know nothing of drawing, which comes after them: the record of their family names the function.
"""

from __future__ import annotations

from sigmastar.core.family import families, load


def picture_of(value: object) -> str | None:
    """An SVG element of an object; None where no family draws its class, or this one cannot be drawn.

    Parameters
    ----------
    value : object
        A model, a tree, a treebank, or what a choice of states rests on.

    Returns
    -------
    str or None
        What `_repr_svg_` of its class gives.

    Examples
    --------
    >>> picture_of(3) is None
    True
    """
    wanted = f"{type(value).__module__}:{type(value).__qualname__}"
    for family in families().values():
        if wanted in family.pictures:
            try:
                drawn = load(family.pictures[wanted])(value)
            except (ValueError, ArithmeticError, ImportError):  # a notebook shows the text instead
                return None
            return drawn if isinstance(drawn, str) else None
    return None
