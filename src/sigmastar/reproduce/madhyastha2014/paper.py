"""What Madhyastha, Carreras and Quattoni (2014) print, to stand beside our own figures.

Their curves are pictures without numbers: what can be quoted is the range of each axis.
"""

from __future__ import annotations

from collections.abc import Mapping

AXES: Mapping[str, str] = {
    "adjectives given noun": "50-90",
    "nouns given adjective": "66-80",
    "objects given verb": "46-62",
    "verbs given object": "60-80",
    "with": "50-75",
    "for": "54-72",
    "in": "46-58",
    "on": "60-80",
}
"""Pairwise accuracy in figures 1 and 2: where the vertical axes begin and end."""

ADJECTIVES: Mapping[str, str] = {
    "president": "executive, senior, chief, frank, former, international, marketing, assistant, annual, "
    "financial",
    "wife": "former, executive, new, financial, own, senior, old, other, deputy, major",
    "shares": "annual, due, net, convertible, average, new, high-yield, initial, tax-exempt, subordinated",
    "mortgages": "annualized, annual, three-month, one-year, average, six-month, conventional, short-term, "
    "higher, lower",
    "month": "last, next, fiscal, first, past, latest, early, previous, new, current",
    "problem": "new, good, major, tough, bad, big, first, financial, long, federal",
    "holiday": "new, major, special, fourth-quarter, joint, quarterly, third-quarter, small, strong, own",
}
"""Table 1: the ten likeliest adjectives of nouns that were not trained on."""
