"""Tokenizer, tagger and parser, learned together from a treebank."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, Self

import numpy as np

from sigmastar.core.arrays import Int64s
from sigmastar.core.errors import InputError
from sigmastar.core.estimator import Estimator, as_generator, positive
from sigmastar.core.progress import Progress, silent, stage
from sigmastar.core.word_classes import WordClasses
from sigmastar.core.word_clusters import learn_word_classes
from sigmastar.dependency.data.treebank import DependencyTreebank, as_treebank, multiword_tokens
from sigmastar.dependency.estimator import SpectralDependencyGrammar
from sigmastar.taggers.data.sentences import TaggedSentences
from sigmastar.taggers.data.tokenizer import Tokenizer
from sigmastar.taggers.estimator import SpectralTagger
from sigmastar.taggers.model.pipeline import TextPipeline, joint_tags, retagged
from sigmastar.taggers.model.tagger import Tagger

TOKENIZERS = ("rules", "blanks")
_LEAST_FOLD = 20  # sentences of a part whose tags others find


def _cuts(n_sentences: int, n_folds: int, n_taggings: int) -> list[Int64s]:
    """The part of every sentence, by each tagging: neighbours, and no two cuts at one place."""
    n_folds = min(n_folds, n_sentences // _LEAST_FOLD)
    steps = np.arange(n_sentences) * n_folds * n_taggings // n_sentences
    return [(steps + shift) // n_taggings % n_folds for shift in range(n_taggings)] if n_folds > 1 else []


class _FittedPipeline:
    """What `fit` sets."""

    model_: TextPipeline


@dataclass(eq=False, repr=False)
class Pipeline(_FittedPipeline, Estimator):
    """From raw text to dependency trees: tokenizer, tagger and parser in one object and one file.

    Parameters
    ----------
    tokenizer : {"rules", "blanks"}
        "rules": Unicode words, clitics, numbers and punctuation, with what the treebank tells of
        abbreviations, contractions, words that stay whole and ends of sentences;
        "blanks": a line is a sentence, and blanks part its words.
    tagger : str
        The method of `SpectralTagger`.
    arcs : str
        What decides the parse, as of `SpectralDependencyGrammar`.
    arc_epochs : int
        Number of passes over the trees when arcs are trained.
    folds : int
        Number of parts of the treebank: the parser learns from each with the tags that a tagger of the others
        finds, because tags of text have errors too. Parts have 20 sentences at least; 1: given tags.
    taggings : int
        Number of times that the treebank is cut so, at other sentences each time: the parser learns from
        every sentence as often, with tags by other taggers.

    Attributes
    ----------
    model_ : TextPipeline
        The three models.

    Examples
    --------
    >>> dog = [("the", "DET", "DT"), ("dog", "NOUN", "NN"), ("barks", "VERB", "VBZ"), (".", "PUNCT", ".")]
    >>> pipeline = Pipeline().fit([dog] * 8, [[2, 3, 0, 3]] * 8)
    >>> parsed = pipeline.predict(["The dog barks. The dog barks."])
    >>> parsed.upos[:4], parsed.head[:4].tolist(), len(parsed)
    (['DET', 'NOUN', 'VERB', 'PUNCT'], [2, 3, 0, 3], 2)
    """

    tokenizer: str = "rules"
    tagger: str = "refined"
    arcs: str = "lexical"
    arc_epochs: int = 3
    folds: int = 5
    taggings: int = 2

    def fit(self, X: Any, y: Any = None, text: list[str] | None = None) -> Self:
        """Learn from trees, and from raw text where there is some.

        Parameters
        ----------
        X : sentences
            Words as tuples `(form, upos, xpos)`, or a `DependencyTreebank`.
        y : sequence of sequences of int or None
            The heads of each sentence; None: those of the treebank.
        text : list of str or None
            Raw texts, some millions of words: words that stand in like places there are of one class, which
            tagger and parser read beside the words. So they know words that the treebank is too small for.
        """
        if self.tokenizer not in TOKENIZERS:
            raise ValueError(
                f"tokenizer={self.tokenizer!r} must be one of {', '.join(map(repr, TOKENIZERS))}"
            )
        treebank, progress = as_treebank(X, y), self.progress or silent
        if not treebank.n_words:
            raise InputError("there are no sentences to learn from")
        tokens = Tokenizer.of(
            treebank.form,
            self.tokenizer == "rules",
            multiword_tokens(treebank),
            treebank.sentence_offsets.tolist(),
        )
        classes = None if text is None else self._classes(tokens, treebank, text, stage(progress, 0.0, 0.15))
        sentences = TaggedSentences(treebank.form, joint_tags(treebank), treebank.sentence_offsets)
        tagger = self._tagger(sentences, classes, stage(progress, 0.15 if classes else 0.0, 0.25))
        cuts = _cuts(len(treebank), positive(self.folds, "folds"), positive(self.taggings, "taggings"))
        if cuts:
            tags = self._tags_by_others(sentences, cuts, classes, stage(progress, 0.25, 0.6))
            treebank = DependencyTreebank.joined([retagged(treebank, found) for found in tags])
        parser = SpectralDependencyGrammar(
            arcs=self.arcs,
            arc_epochs=positive(self.arc_epochs, "arc_epochs"),
            progress=stage(progress, 0.6, 1.0),
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )._fit_with(treebank, classes)
        self._replace_fitted(model_=TextPipeline(tokens, tagger, parser.model_))
        return self

    def _tagger(self, sentences: TaggedSentences, classes: WordClasses | None, progress: Progress) -> Tagger:
        shared: dict[str, Any] = {"random_state": self.random_state, "n_jobs": self.n_jobs}
        return SpectralTagger(self.tagger, progress=progress, **shared)._fit_with(sentences, classes).model_

    def _tags_by_others(
        self, sentences: TaggedSentences, cuts: list[Int64s], classes: WordClasses | None, progress: Progress
    ) -> list[list[str]]:
        """By each cut the tag of every word, found by a tagger of the other parts of the treebank."""
        found = np.empty((len(cuts), sentences.n_words), dtype=object)
        parts = [(row, part_of == k) for row, part_of in enumerate(cuts) for k in range(part_of.max() + 1)]
        for n, (row, chosen) in enumerate(parts):
            going = stage(progress, n / len(parts), (n + 1) / len(parts))
            tagger = self._tagger(sentences.select(np.flatnonzero(~chosen)), classes, going)
            with self._working():
                tags = tagger.predict(sentences.select(np.flatnonzero(chosen)))
            found[row, np.repeat(chosen, sentences.lengths)] = tags
        return found.tolist()

    def _classes(
        self, tokenizer: Tokenizer, treebank: DependencyTreebank, text: list[str], progress: Progress
    ) -> WordClasses:
        """Of the words of raw text and of the treebank."""
        if isinstance(text, str):
            raise InputError("text is one text; pass a list of texts, as in [text]")
        own = (treebank.form[low:high] for low, high in pairwise(treebank.sentence_offsets.tolist()))
        raw = tokenizer.sentences(*text)
        with self._working():
            return learn_word_classes(chain(raw, own), as_generator(self.random_state), progress)

    def predict(self, X: list[str]) -> DependencyTreebank:
        """Sentences, tags, heads and relations of texts.

        Parameters
        ----------
        X : list of str
            Raw texts.

        Returns
        -------
        DependencyTreebank
            The sentences of all texts, one after the other; `write_conllu` writes them.
        """
        model = self.model_
        if isinstance(X, str):
            raise InputError("X is one text; pass a list of texts, as in [X]")
        for number, text in enumerate(X, 1):
            if not isinstance(text, str):
                raise InputError(f"text {number} is {text!r}; pass raw text, as in ' '.join(words)")
        sentences = list(model.tokenizer.sentences(*X))
        with self._working():
            return model.parse_words(sentences, self.progress or silent)

    def score(self, X: Any, y: Any = None) -> float:
        """The share of words with the right head, from words alone.

        Parameters
        ----------
        X, y
            Trees, as of `fit`.

        Returns
        -------
        float
            The unlabelled attachment score, punctuation included.
        """
        model, treebank = self.model_, as_treebank(X, y)
        with self._working():
            found = model.parse(treebank)
        return float(np.mean(found.head == treebank.head)) if treebank.n_words else 0.0
