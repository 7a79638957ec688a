"""How well and how fast do taggers tag?

Test accuracy on all and on unknown words, F1 of chunks, training time and tokens a second, for every learner
on UPOS of the English EWT treebank and on tags and chunks of CoNLL 2000; CRFsuite (c1 = c2 = 0.1, 100
iterations) is the peer, on features of the same words and windows. Chunks are found given the tags, as in the
shared task, by all; unit `words` finds them from words alone.
Sizes and weights are the defaults, which were chosen on EWT's development part and on the last tenth of the
CoNLL 2000 training sentences. `single` is one refinement; `start` a smaller one from spectral clusters with 7
EM iterations (over-relaxed), `em` one of the same size from chance with 40, `em-7` the same with 7: all with
four seeds. `conditional` is `spectral` with operators of P(tags | words). `hankel-margin` stands beside the
lexicon alone, which is what is left without its block.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.corpora import require_folder
from benchmarks.harness import Finding, Question, Row, Settings, Target, timed
from sigmastar import EMTagger, NgramTagger, SpectralTagger, TaggedSentences
from sigmastar.core.intervals import mcnemar
from sigmastar.taggers import TaggedLayout, Tagger, chunk_counts, n_nonpositive, tagging_scores, word_shape

UNITS = {"ewt": "ud", "pos": "conll2000", "chunk": "conll2000", "words": "conll2000"}
LAYOUTS = {
    "ewt": TaggedLayout("conllu", "upos"),
    "pos": TaggedLayout("columns", "2"),
    "chunk": TaggedLayout("columns", "3"),
    "words": TaggedLayout("columns", "3", ()),
}
CRF = "crfsuite"
LEARNERS: dict[str, Callable[[], SpectralTagger | EMTagger | NgramTagger]] = {
    "bigram": NgramTagger,
    "trigram": lambda: NgramTagger(3),
    "spectral": lambda: SpectralTagger("spectral"),
    "conditional": lambda: SpectralTagger("spectral", conditional=True),
    "single": lambda: SpectralTagger(n_members=1, features=False),
    "start": lambda: SpectralTagger(n_states=16, n_members=1, features=False),  # the size of `em`
    "em": EMTagger,
    "em-7": lambda: EMTagger(max_iter=7),
    "chain": lambda: SpectralTagger("chain"),
    "hankel-margin": lambda: SpectralTagger("hankel-margin"),
    "refined": SpectralTagger,
}
METHODS = (*LEARNERS, CRF)
N_SEEDS = {"start": 4, "em": 4, "em-7": 4}
N_WARM = 50


def units(settings: Settings) -> list[str]:
    require_folder(settings, "conll2000")
    return ["ewt"] if settings.quick else list(UNITS)


def files(unit: str, settings: Settings) -> list[Path]:
    folder = require_folder(settings, UNITS[unit])
    if unit == "ewt":
        return [folder / f"en_ewt-{part}.conllu.gz" for part in ("train", "test")]
    return [folder / f"{part}.txt.gz" for part in ("train", "test")]


def measure(unit: str, settings: Settings) -> Iterator[Row]:
    train, test = (LAYOUTS[unit].read(path).sentences for path in files(unit, settings))
    right: dict[str, np.ndarray] = {}
    chunks: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for method in settings.chosen(METHODS):
        if method == CRF and importlib.util.find_spec("pycrfsuite") is None:
            continue
        for number in range(1 if settings.quick else N_SEEDS.get(method, 1)):
            found, row = _peer(train, test) if method == CRF else _ours(method, train, test, settings, number)
            scores = tagging_scores(test, found, set(train.types), settings.rng(1))
            right[method] = np.array([a == b for a, b in zip(found, test.tags or [], strict=True)])
            chunks[method] = chunk_counts(test, found) if scores.chunk_f1 else (np.zeros(1), np.ones(1))
            yield {
                "method": method,
                "seed": number,
                "accuracy": scores.accuracy.value,
                "low": scores.accuracy.low,
                "high": scores.accuracy.high,
                "unknown": scores.unknown_accuracy.value if scores.unknown_accuracy else None,
                "F1": scores.chunk_f1.value if scores.chunk_f1 else None,
                "F1 low": scores.chunk_f1.low if scores.chunk_f1 else None,
                "F1 high": scores.chunk_f1.high if scores.chunk_f1 else None,
                **row,
            }
    if CRF in right and "refined" in right:
        yield _against(right, chunks, settings)


def _ours(
    method: str, train: TaggedSentences, test: TaggedSentences, settings: Settings, number: int
) -> tuple[list[str], Row]:
    tagger = LEARNERS[method]().set_params(random_state=settings.seed + number, n_jobs=1)
    tagger.fit(train.select(np.arange(N_WARM))).predict(test.select(np.arange(N_WARM)))  # compiles
    _, training = timed(lambda: tagger.fit(train))
    tags, tagging = timed(lambda: tagger.predict(test))
    found = [tag for row in tags for tag in row]
    row: Row = {
        "seconds": training.seconds,
        "cpu_seconds": training.cpu_seconds,
        "tokens/s": test.n_words / tagging.cpu_seconds,
    }
    bad = n_nonpositive(tagger.model_, test)
    if bad is not None:
        row["non-positive"] = bad / len(test)
    if method == "hankel-margin":  # all that is left without its block
        row["lexicon"] = _by_lexicon(tagger.model_, test)
    return found, row


def _by_lexicon(tagger: Tagger, test: TaggedSentences) -> float:
    """The accuracy of the likeliest tag of each word by itself."""
    lattice = tagger.lexicon.lattice(test)
    found = lattice.likeliest[lattice.types]
    return float(np.mean(found == test.tag_codes(tagger.tags)))


def _peer(train: TaggedSentences, test: TaggedSentences) -> tuple[list[str], Row]:
    import pycrfsuite

    sentences = crf_sentences(train)
    trainer = pycrfsuite.Trainer(verbose=False)
    for features, tags in zip(sentences, train.cut(train.tags or []), strict=True):
        trainer.append(features, tags)
    trainer.set_params({"c1": 0.1, "c2": 0.1, "max_iterations": 100})
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "crf.model")
        _, training = timed(lambda: trainer.train(model))
        tagger = pycrfsuite.Tagger()
        tagger.open(model)
        found, tagging = timed(
            lambda: [tag for features in crf_sentences(test) for tag in tagger.tag(features)]
        )
    return found, {
        "seconds": training.seconds,
        "cpu_seconds": training.cpu_seconds,
        "tokens/s": test.n_words / tagging.cpu_seconds,
    }


def crf_sentences(sentences: TaggedSentences) -> list[list[list[str]]]:
    """Features of every word of every sentence, of the word and of what is observed."""
    rows = [crf_features(words) for words in sentences.cut(sentences.words)]
    for column in sentences.observed:
        for features, given in zip(rows, sentences.cut(column), strict=True):
            for row, more in zip(features, crf_observed(given), strict=True):
                row += more
    return rows


def crf_observed(given: list[str]) -> list[list[str]]:
    """What is observed in a window of five, alone and in pairs and triples of neighbours."""
    wide = ["<>", "<>", *given, "<>", "<>"]
    return [
        [
            f"{low - 2}..{low + length - 3}={'|'.join(wide[i + low : i + low + length])}"
            for length in (1, 2, 3)
            for low in range(6 - length)
        ]
        for i in range(len(given))
    ]


def crf_features(words: list[str]) -> list[list[str]]:
    """Word, affixes, shape; two words to each side, shapes and endings of the next ones, pairs of words."""
    small = ["<>", "<>", *(word.lower() for word in words), "<>", "<>"]
    shapes = ["<>", *map(word_shape, words), "<>"]
    rows = []
    for i, word in enumerate(words):
        w = small[i + 2]
        row = ["bias", f"w={word}", f"l={w}", f"shape={shapes[i + 1]}"]
        row += [f"s{k}={w[-k:]}" for k in range(1, 5)] + [f"p{k}={w[:k]}" for k in range(1, 5)]
        row += [f"{d}w={small[i + 2 + d]}" for d in (-2, -1, 1, 2)]
        for d in (-1, 1):
            row += [f"{d}shape={shapes[i + 1 + d]}", f"{d}s3={small[i + 2 + d][-3:]}"]
        row += [f"-1|0={small[i + 1]}|{w}", f"0|1={w}|{small[i + 3]}"]
        rows.append(row)
    return rows


def _against(
    right: dict[str, np.ndarray], chunks: dict[str, tuple[np.ndarray, np.ndarray]], settings: Settings
) -> Row:
    """The default tagger beside the peer, paired: McNemar on words, resampled sentences for F1."""
    test = mcnemar(right["refined"], right[CRF])
    row: Row = {
        "method": "refined - crfsuite",
        "accuracy": float(right["refined"].mean() - right[CRF].mean()),
        "p": test.p_value,
    }
    ours, theirs = chunks["refined"], chunks[CRF]
    if len(ours[0]) > 1:
        n = len(ours[0])
        drawn = settings.rng(2).multinomial(n, np.full(n, 1 / n), 2000)
        gaps = (drawn @ ours[0]) / (drawn @ ours[1]) - (drawn @ theirs[0]) / (drawn @ theirs[1])
        row["F1"] = float(ours[0].sum() / ours[1].sum() - theirs[0].sum() / theirs[1].sum())
        row["F1 low"], row["F1 high"] = (float(v) for v in np.quantile(gaps, [0.025, 0.975]))
    return row


def conclude(rows: list[Row]) -> list[Finding]:
    def mean(unit: str, method: str, column: str) -> float:
        values = [
            r[column]
            for r in rows
            if (r["unit"], r["method"]) == (unit, method) and r.get(column) is not None
        ]
        return float(np.mean(values)) if values else float("nan")

    found: list[Finding] = []

    def say(label: str, value: float, target: Target) -> None:
        if np.isfinite(value):
            found.append(Finding(label, value, target))

    crf = mean("ewt", CRF, "accuracy")
    say("EWT, refined: accuracy", mean("ewt", "refined", "accuracy"), Target(">=", 0.952))
    say("EWT, refined - CRFsuite", mean("ewt", "refined", "accuracy") - crf, Target(">=", 0.0))
    gain = mean("ewt", "single", "accuracy") - mean("ewt", "trigram", "accuracy")
    say("EWT, one refinement - trigram", gain, Target(">=", 0.016))
    say("CoNLL 2000 tags, refined: accuracy", mean("pos", "refined", "accuracy"), Target(">=", 0.978))
    say("CoNLL 2000 chunks, refined: F1", mean("chunk", "refined", "F1"), Target(">=", 0.9377))
    say("CoNLL 2000 chunks from words, refined: F1", mean("words", "refined", "F1"), Target(">=", 0.929))
    for unit, column in (("ewt", "accuracy"), ("pos", "accuracy"), ("chunk", "F1"), ("words", "F1")):
        peer = mean(unit, "refined", column) - mean(unit, CRF, column)
        say(f"{unit}, refined - CRFsuite: {column}", peer, Target(">=", 0.0))
        ratio = mean(unit, "refined", "cpu_seconds") / mean(unit, CRF, "cpu_seconds")
        say(f"{unit}, training time / CRFsuite's", ratio, Target("<=", 0.5))
        start = mean(unit, "start", column) - mean(unit, "em", column)
        say(f"{unit}, spectral start - random start: {column}", start, Target(">=", 0.0))
        faster = mean(unit, "start", "cpu_seconds") / mean(unit, "em", "cpu_seconds")
        say(f"{unit}, spectral start: time / random start's", faster, Target("<=", 0.5))
        margin, alone = mean(unit, "hankel-margin", column), mean(unit, "hankel-margin", "lexicon")
        if np.isfinite(margin):
            chain = mean(unit, "chain", column)
            note = f"accuracy of the lexicon alone {alone:.4f}; the chain of features {chain:.4f}"
            found.append(Finding(f"{unit}, hankel-margin: {column}", margin, None, note))
        operators = mean(unit, "spectral", column) - mean(unit, "bigram", column)
        say(f"{unit}, operators - bigram: {column}", operators, Target(">=", 0.0))
        say(f"{unit}, non-positive normalizers", mean(unit, "spectral", "non-positive"), Target("<", 0.01))
        say(f"{unit}, refined: tokens/s", mean(unit, "refined", "tokens/s"), Target(">=", 100_000))
    return found


QUESTION = Question(
    name="tagging",
    title="Tagging: accuracy, chunks, training and tagging speed, beside CRFsuite",
    units=units,
    measure=measure,
    conclude=conclude,
    columns=(
        "method", "seed", "accuracy", "low", "high", "unknown", "F1", "F1 low", "F1 high", "p",
        "seconds", "cpu_seconds", "tokens/s", "non-positive",
    ),
    files=files,
)  # fmt: skip
