"""Model files of parsers whose arrays lead astray are refused before any kernel follows them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from sigmastar import PCFG, SpectralTreebankGrammar
from sigmastar.core.errors import InputError, ModelFileError
from sigmastar.core.model_reading import load_model, save_model
from sigmastar.treebanks import TreebankParser
from sigmastar.treebanks.model import whole_trees
from sigmastar.treebanks.model.whole_trees import TreeSampler
from sigmastar.trees import make_treebank

Arrays = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def parser() -> TreebankParser:
    trees = make_treebank(150, random_state=1, max_words=10).trees
    return SpectralTreebankGrammar(n_states=5, max_iter=1).fit(trees).model_


def changed(name: str, change: Callable[[np.ndarray], object]) -> Callable[[Arrays], None]:
    def forge(arrays: Arrays) -> None:
        arrays[name] = arrays[name].copy()
        result = change(arrays[name])
        if isinstance(result, np.ndarray):
            arrays[name] = result

    return forge


def at(place: object, value: float) -> Callable[[np.ndarray], object]:
    return lambda array: array.__setitem__(place, value)


FORGED = {
    "above too large": (changed("forest.above", at(0, 10**6)), "'above' must hold numbers"),
    "above in a circle": (changed("forest.above", at(-2, 0)), "above must lead"),
    "starts beyond the pairs": (changed("forest.starts", at(-1, 10**6)), "'starts' must rise"),
    "starts that fall": (changed("forest.starts", at(1, 10**6)), "'starts' must rise"),
    "fewer nodes": (changed("forest.totals", lambda a: a[:-1]), "'totals' of shape"),
    "symbols too large": (changed("forest.symbols", at(0, 10**6)), "'symbols' must hold numbers"),
    "symbols below zero": (changed("forest.symbols", at(0, -5)), "'symbols' must hold numbers"),
    "tags too large": (changed("forest.tags", at(0, 10**6)), "'tags' must hold numbers"),
    "fewer counts": (changed("forest.counts", lambda a: a[:-1]), "'counts' of shape"),
    "kinds": (changed("0.symbols.kind", at(0, 9)), "'symbols.kind' must hold numbers"),
    "leaves that are phrases": (changed("0.symbols.kind", at(0, 1)), "must be those of words"),
    "labels of symbols": (changed("1.symbols.label", at(0, 10**6)), "'symbols.label' must hold numbers"),
    "parents of symbols": (changed("0.symbols.parent", at(0, 10**6)), "'symbols.parent' must hold numbers"),
    "siblings": (changed("0.symbols.siblings", at((0, 0), 10**6)), "'symbols.siblings' must hold numbers"),
    "rules": (changed("0.1.rules", at((0, 0), 10**6)), "'rules' must hold numbers"),
    "other rules": (
        changed("0.2.rules", lambda a: a[::-1].copy()),
        "symbols and rules|do not fit|fit the numbers of states",
    ),
    "rules out of order": (changed("0.0.rules", lambda a: a[::-1].copy()), "sorted by their children"),
    "no states": (changed("0.2.n_states", at(0, 0)), "'n_states' must hold numbers"),
    "more states": (changed("0.2.n_states", at(0, 50)), "do not fit|'n_states' must hold numbers"),
    "states in the plain pass": (changed("0.0.n_states", at(-1, 2)), "do not fit|one state per symbol"),
    "short tensors": (changed("0.1.tensors", lambda a: a[:-1]), "do not fit"),
    "more states than memory": (
        changed("0.2.n_states", at(slice(None), 10**6)),
        "'n_states' must hold numbers",
    ),
    "short counts": (changed("0.2.counts.values", lambda a: a[:-1]), "'values' of shape"),
    "counts of other rules": (changed("0.2.counts.starts", lambda a: a[:-1]), "'starts' of shape"),
    "counts that begin late": (changed("0.2.counts.starts", at(0, 1)), "'starts' must rise"),
    "counts beyond the tensor": (changed("0.2.counts.cells", at(-1, 60_000)), "places of counts"),
    "counts out of order": (changed("0.2.counts.cells", at(slice(0, None), 0)), "places of counts must rise"),
    "counts that are no numbers": (changed("0.2.counts.values", at(0, 0x7FC0)), "finite numbers"),
    "counts below zero": (changed("0.2.counts.values", at(0, 0xBF80)), "finite numbers"),
    "shrinkage below zero": (changed("0.2.counts.shrinkage", at(0, -1.0)), "'shrinkage' must hold"),
    "short lexicons": (changed("0.2.lexicon", lambda a: a[:-1]), "do not fit"),
    "few frequencies": (changed("0.2.frequencies", lambda a: a[:-1]), "'frequencies' of shape"),
    "few weights of spans": (changed("spans.weights", lambda a: a[:-1]), "'weights' of shape"),
}


@pytest.mark.parametrize("name", FORGED)
def test_what_leads_astray_is_refused(parser: TreebankParser, name: str) -> None:
    arrays, header = parser.to_parts()
    TreebankParser.from_parts(dict(arrays), header)
    forge, message = FORGED[name]
    forge(arrays)
    with pytest.raises(ValueError, match=message):
        TreebankParser.from_parts(arrays, header)


def test_files_without_heads_are_read(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """Older files do not tell which children are heads: they are chosen among the trees that are scored."""
    trees = make_treebank(100, random_state=2, max_words=10).trees
    parser = PCFG("head").fit(trees).model_
    arrays, header = parser.to_parts()
    older = TreebankParser.from_parts(arrays, {key: header[key] for key in header if key != "heads"})
    assert older.members[0].heads is None
    words = list(trees[0].words())
    assert older.parse_one(words).tree == parser.parse_one(words).tree
    save_model(older, tmp_path / "m")
    assert load_model(tmp_path / "m").members[0].heads is None


def test_the_message_names_the_file(parser: TreebankParser, tmp_path) -> None:  # type: ignore[no-untyped-def]
    class Forged(TreebankParser):
        def to_parts(self):  # type: ignore[no-untyped-def]
            arrays, header = super().to_parts()
            arrays["forest.symbols"] = np.full_like(arrays["forest.symbols"], 10**6)
            return arrays, header

    forged = Forged(parser.labels, parser.members)
    Forged.__module__, Forged.__qualname__ = TreebankParser.__module__, TreebankParser.__qualname__
    save_model(forged, tmp_path / "m")
    with pytest.raises(ModelFileError, match="'symbols' must hold numbers"):
        load_model(tmp_path / "m")


@pytest.mark.parametrize(
    ("table", "said"), [("_rules", "no rule rewrites"), ("_words", "no word has the tag")]
)
def test_trees_that_cannot_be_drawn_are_told(parser: TreebankParser, table: str, said: str) -> None:
    """A forged grammar may have symbols that nothing rewrites."""
    sampler = TreeSampler(parser.members[0])
    vars(sampler)[table] = {}
    with pytest.raises(InputError, match=said):
        sampler.sample(np.random.default_rng(0))


def test_trees_that_never_end_are_told(parser: TreebankParser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_trees, "_MOST_NODES", 0)
    with pytest.raises(InputError, match="grow without end"):
        parser.sample(1, np.random.default_rng(0))
