"""Data sets as what the families learn from.

load_conll2000("train")                     from files at hand
load_conll2000("train", download=True)      and where there are none, from their source, under its licence
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from sigmastar.automata.data.formats import read_lines
from sigmastar.automata.data.pautomac import read_pautomac, read_solution
from sigmastar.automata.data.spice import SpiceTargets, read_spice, read_spice_targets
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.pautomac_machine import read_pautomac_model
from sigmastar.bilexical.data.quadruples import Quadruples, read_quadruples
from sigmastar.core.arrays import Floats
from sigmastar.core.errors import InputError
from sigmastar.datasets.fetching import at_hand, data_set, fetch, find, how_to_bring
from sigmastar.dependency.data.conllu import read_conllu, read_dp
from sigmastar.dependency.data.treebank import DependencyTreebank
from sigmastar.taggers.data.columns import read_tagged
from sigmastar.taggers.data.sentences import TaggedSentences
from sigmastar.transducers.data import Word, read_transductions
from sigmastar.trees.data.brackets import read_brackets
from sigmastar.trees.data.tree import Tree


class PautomacProblem(NamedTuple):
    """A problem of PAutomaC.

    Parameters
    ----------
    train, test : Strings
        To learn from, and to be judged on.
    solution : array
        True probabilities of the test strings, normalized over them.
    target : WeightedAutomaton
        The machine that the strings are drawn from.
    """

    train: Strings
    test: Strings
    solution: Floats
    target: WeightedAutomaton


class SpiceProblem(NamedTuple):
    """A problem of SPiCe.

    Parameters
    ----------
    train, prefixes : Strings
        To learn from, and to be continued.
    targets : SpiceTargets
        What comes next.
    """

    train: Strings
    prefixes: Strings
    targets: SpiceTargets


def load_pautomac(problem: int = 1, *, download: bool = False) -> PautomacProblem:
    """A problem of PAutomaC: strings of a machine, and the machine.

    Parameters
    ----------
    problem : int
        Its number, 1 to 47, no multiple of 3.
    download : bool
        Whether to download what is not at hand, under the licence of the set.

    Returns
    -------
    PautomacProblem
        Train and test strings, true probabilities, the machine.
    """
    stem = f"pautomac/{problem}.pautomac"
    paths = (f"{stem}.train.gz", f"{stem}.test", f"{stem}_solution.txt", f"{stem}_model.txt")
    train, test, solution, model = _files("pautomac", paths, download, f"problem {problem}")
    strings = read_pautomac(train)
    return PautomacProblem(
        strings,
        read_pautomac(test, strings.alphabet),
        read_solution(solution),
        read_pautomac_model(model, len(strings.alphabet)),
    )


def load_spice(problem: int = 0, *, download: bool = False) -> SpiceProblem:
    """A problem of SPiCe: strings, and prefixes with what comes next.

    Parameters
    ----------
    problem : int
        0, 1, 4, 6 or 9.
    download : bool
        As of `load_pautomac`.

    Returns
    -------
    SpiceProblem
        Strings, prefixes, targets.
    """
    parts = ("train", "prefix.public", "target.public")
    paths = tuple(f"spice/{problem}.spice.{part}.gz" for part in parts)
    train, prefixes, targets = _files("spice", paths, download, f"problem {problem}")
    strings = read_spice(train)
    return SpiceProblem(strings, read_spice(prefixes, strings.alphabet), read_spice_targets(targets))


def load_ud_english_ewt(part: str = "train", *, download: bool = False) -> DependencyTreebank:
    """The English Web Treebank of Universal Dependencies.

    Parameters
    ----------
    part : {"train", "dev", "test"}
        Which of its sentences.
    download : bool
        As of `load_pautomac`.

    Returns
    -------
    DependencyTreebank
        Words, tags, heads and relations.
    """
    (path,) = _files("ud-english-ewt", (f"ud/en_ewt-{part}.conllu.gz",), download, part)
    return read_conllu(path)


def load_conll2000(part: str = "train", *, download: bool = False) -> TaggedSentences:
    """Sentences with chunks, and with tags beside the words.

    Parameters
    ----------
    part : {"train", "test"}
        Which of its sentences.
    download : bool
        As of `load_pautomac`.

    Returns
    -------
    TaggedSentences
        Words, chunks as labels, part-of-speech tags as the observed column.
    """
    (path,) = _files("conll2000", (f"conll2000/{part}.txt.gz",), download, part)
    return read_tagged(path)


def load_wikitext2(part: str = "train", *, download: bool = False) -> Strings:
    """WikiText-2, a string per line; lines without words are empty strings.

    Parameters
    ----------
    part : {"train", "valid", "test"}
        Which of its lines.
    download : bool
        As of `load_pautomac`.

    Returns
    -------
    Strings
        Words as symbols.
    """
    (path,) = _files("wikitext-2", (f"wikitext-2/{part}.txt.gz",), download, part)
    return read_lines(path)


def load_treebank_sample(part: str = "train", *, download: bool = False) -> list[Tree]:
    """Trees of the sample of the Penn Treebank, as they are distributed.

    Parameters
    ----------
    part : {"train", "dev", "test"}
        Files 1 to 159, 160 to 179, 180 to 199.
    download : bool
        As of `load_pautomac`.

    Returns
    -------
    list of Tree
        With function tags and traces.
    """
    (path,) = _files("treebank-sample", (f"ptb_sample/wsj-{part}.mrg",), download, part)
    return read_brackets(path)


def load_dependency_sample(part: str = "train", *, download: bool = False) -> DependencyTreebank:
    """The same sentences as of `load_treebank_sample`, with heads.

    Parameters
    ----------
    part : {"train", "dev", "test"}
        As there.
    download : bool
        As of `load_pautomac`.

    Returns
    -------
    DependencyTreebank
        Words, tags and heads.
    """
    (path,) = _files("treebank-sample", (f"ptb_sample/wsj-{part}.dp",), download, part)
    return read_dp(path)


def load_ppattach(part: str = "training", *, download: bool = False) -> Quadruples:
    """Prepositional phrases and what takes them.

    Parameters
    ----------
    part : {"training", "devset", "test"}
        Which of its items.
    download : bool
        As of `load_pautomac`.

    Returns
    -------
    Quadruples
        Verb, noun, preposition, noun, and the answer.
    """
    (path,) = _files("ppattach", (f"ppattach/{part}",), download, part)
    return read_quadruples(path)


def load_brown(part: str = "train", *, download: bool = False) -> TaggedSentences:
    """The Brown corpus with its tags.

    Parameters
    ----------
    part : {"train", "dev", "test"}
        Which of its sentences.
    download : bool
        As of `load_pautomac`.

    Returns
    -------
    TaggedSentences
        Words and tags.
    """
    (path,) = _files("brown", (f"pos/brown-{part}.tsv.gz",), download, part)
    return read_tagged(path)


def load_cmudict(part: str = "train", *, download: bool = False) -> list[tuple[Word, Word]]:
    """Words and their pronunciations.

    Parameters
    ----------
    part : {"train", "dev", "test"}
        Which of its words.
    download : bool
        As of `load_pautomac`.

    Returns
    -------
    list of pairs
        Letters and phones.
    """
    (path,) = _files("cmudict", (f"transduction/cmudict-{part}.tsv.gz",), download, part)
    return read_transductions(path)


def load_taysir_words(network: str = "2.1", *, download: bool = False) -> Strings:
    """Words that a network of TAYSIR is judged on, with the symbols of their beginning and end.

    Parameters
    ----------
    network : str
        Such as "2.1": track, and number.
    download : bool
        As of `load_pautomac`; this set is not downloaded.

    Returns
    -------
    Strings
        Each begins and ends with a symbol of its own.
    """
    (path,) = _files("taysir", (f"taysir/{network}.valid.words.gz",), download, f"network {network}")
    return read_pautomac(path)


def _files(name: str, paths: tuple[str, ...], download: bool, part: str) -> list[Path]:
    """Where the files of a set lie, all at hand."""
    entry = data_set(name)
    known = {file.path: file for file in entry.files}
    if not set(paths) <= set(known):
        raise InputError(f"{name} has no {part}; its files are listed by: sigmastar data show {name}")
    missing = [known[path] for path in paths if find(path) is None]
    if missing and not all(file.source for file in missing):
        raise InputError(how_to_bring(entry, missing))
    if missing and not download:
        raise InputError(
            f"{name} is not at hand; with download=True, or by sigmastar data get {name}, it is downloaded "
            f"under its licence: {entry.licence}"
        )
    if missing:
        fetch(name, paths)
    return [at_hand(path) for path in paths]
