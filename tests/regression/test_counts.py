"""The entries that strings reach, and what ties them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

import oracles_hankel as oracles
from sigmastar.automata.data.strings import PrefixTrie, Strings
from sigmastar.core.alphabet import Alphabet
from sigmastar.regression.counts import HankelEntries


def spelled(trie: PrefixTrie) -> list[str]:
    """The word of every node, read from the root."""
    words = [""]
    for node in range(1, trie.n_nodes):
        words.append(words[trie.parent[node]] + "ab"[trie.symbol[node]])
    return words


@given(st.sets(st.text("ab", max_size=6), min_size=1, max_size=8), st.booleans())
def test_orbits_are_the_entries_of_equal_yield(words: set[str], whole: bool) -> None:
    ordered = sorted(words)
    strings = Strings.of(ordered, alphabet=Alphabet("ab"))
    entries = HankelEntries.of(strings, most_entries=10**6 if whole else 0)
    rows = spelled(entries.prefixes)
    columns = [word[::-1] for word in spelled(entries.suffixes)]
    named = [(rows[r], columns[c]) for r, c in zip(entries.rows, entries.columns, strict=True)]
    assert len(set(named)) == len(named)
    for (prefix, suffix), orbit in zip(named, entries.orbits, strict=True):
        if orbit < len(ordered):
            assert prefix + suffix == ordered[orbit]
    yields = oracles.hankel_entries(ordered)
    observed = {entry for entry, word in yields.items() if word in words}
    counts = {word: list(yields.values()).count(word) for word in yields.values()}
    tied = {entry for entry, word in yields.items() if word not in words and counts[word] > 1}
    assert set(named) == (observed | tied if whole else observed)
    groups: dict[int, set[str]] = {}
    for (prefix, suffix), orbit in zip(named, entries.orbits, strict=True):
        groups.setdefault(int(orbit), set()).add(prefix + suffix)
    assert all(len(group) == 1 for group in groups.values())
    assert len({next(iter(group)) for group in groups.values()}) == len(groups)


def test_sizes_are_of_orbits() -> None:
    entries = HankelEntries.of(Strings.of(["ab", "b"]), most_entries=0)
    assert entries.sizes.tolist() == [3, 2]
