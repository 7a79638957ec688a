"""A small model of every kind that files can hold, learned by commands, with data that each can read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np

from cli.calls import succeed

CONLLU = (
    "1\tthe\t_\tDET\tDT\t_\t2\tdet\t_\t_\n"
    "2\t{}\t_\tNOUN\tNN\t_\t3\tnsubj\t_\t_\n"
    "3\t{}\t_\tVERB\tVB\t_\t0\troot\t_\t_\n\n"
)
TREE = "(S (NP (D the) (N {})) (VP (V {}) (NP (D a) (N {}))))\n"
NOUNS, VERBS = ("dog", "cat", "bird"), ("sees", "likes")


@dataclass(frozen=True)
class Small:
    """A model file, and files that its commands read: `None` where there is no such command."""

    model: Path
    data: Path | None
    inputs: Path | None = None

    @property
    def calls(self) -> list[list[str]]:
        """Commands that use all of the model."""
        words = [["show", "MODEL"], ["sample", "MODEL", "-n", "2"]]
        words += (
            [["score", "MODEL", str(self.data)], ["evaluate", "MODEL", str(self.data)]] if self.data else []
        )
        words += [["predict", "MODEL", str(self.inputs or self.data)]] if self.inputs or self.data else []
        return words


ONE_OF_EACH_KIND = (
    *(
        "fast",
        "auto",
        "ngram",
        "classed",
        "function",
        "classifier",
        "grammar",
        "pcfg",
        "hmm",
        "tree",
        "latent",
    ),
    *("tagger-refined", "treebank-pcfg", "transducer-ngram", "transducer-spectral", "dependency-det"),
    *("vectors", "bilexical", "attachment", "words", "word-states", "series", "pipeline"),
)


def small_models(place: Path, names: Sequence[str] | None = None) -> Mapping[str, Small]:
    """Learn all of them, or some by name, into a folder."""
    files = _data(place)
    made: dict[str, Small] = {}

    def learn(name: str, *words: str, data: str, inputs: str | None = None) -> None:
        if names is not None and name not in names:
            return
        model = place / f"{name}.model"
        succeed(*(files[word[1:]] if word[0] == "@" else word for word in words), "-o", model, "-q")
        made[name] = Small(model, files[data], files[inputs] if inputs else None)

    for method in ("fast", "auto", "ngram"):
        learn(method, "learn", "automaton", "@strings", "--method", method, data="strings")
    with patch("sigmastar.automata.estimator.spectral.LARGE_ALPHABET", 1):
        learn("classed", "learn", "automaton", "@strings", data="strings")
    learn("function", "learn", "regression", "@numbers", "--characters", data="numbers")
    learn(
        "classifier",
        "learn",
        "regression",
        "@labels",
        "--task",
        "classification",
        "--characters",
        data="labels",
    )
    learn("grammar", "learn", "grammar", "@trees", "--method", "spectral", "--states", "2", data="trees")
    learn("pcfg", "learn", "pcfg", "@trees", data="trees", inputs="words")
    learn("hmm", "learn", "pcfg", "@strings", "--hmm", "2", "--iterations", "2", data="strings")
    learn("tree", "learn", "trees", "@trees", "--states", "3", "--height", "2", data="trees")
    learn("latent", "learn", "trees", "@trees", "--method", "latent-pcfg", "--states", "2", data="trees")
    for method, more in (
        ("refined", ("--states", "2")),
        ("spectral", ("--states", "3")),
        ("chain", ()),
        ("hankel-margin", ()),
    ):
        learn(f"tagger-{method}", "learn", "tagger", "@tags", "--method", method, *more, data="tags")
    for method in ("pcfg", "best"):
        learn(
            f"treebank-{method}",
            "learn",
            "treebank",
            "@trees",
            "--method",
            method,
            data="trees",
            inputs="words",
        )
    for method in ("ngram", "combined", "spectral"):
        learn(
            f"transducer-{method}",
            "learn",
            "transducer",
            "@pairs",
            "--method",
            method,
            data="pairs",
            inputs="letters",
        )
    with _short_tables():
        learn("dependency", "learn", "dependency", "@arcs", data="arcs")
    learn("dependency-det", "learn", "dependency", "@arcs", "--method", "det+f", data="arcs")
    learn("vectors", "vectors", "@text", "--min-count", "1", data="strings")
    vectors = place / "vectors.model"
    if "vectors" in made:
        made["vectors"] = Small(vectors, None, files["one word"])
    learn(
        "bilexical",
        "learn",
        "bilexical",
        "@modifiers",
        "--vectors",
        str(vectors),
        data="modifiers",
        inputs="one word",
    )
    learn(
        "attachment",
        "learn",
        "attachment",
        "@quadruples",
        "--dev",
        "@quadruples",
        "--vectors",
        str(vectors),
        data="quadruples",
    )
    learn("words", "learn", "words", "@text", "--states", "3", "--order", "3", data="text")
    learn("word-states", "learn", "words", "@text", "--states", "3", "--order", "0", data="text")
    learn("series", "learn", "series", "@series", "--states", "2", data="series")
    with _short_tables():
        learn("pipeline", "learn", "pipeline", "@arcs", "--epochs", "1", data="arcs", inputs="words")
    return made


@contextmanager
def _short_tables() -> Iterator[None]:
    """Inside, arcs and labels have weights of kilobytes in place of megabytes, which say nothing more."""
    place = "sigmastar.dependency.learn.arcs"
    with patch(f"{place}.N_BITS", 12), patch(f"{place}.LABEL_BITS", 10):
        yield


def _data(place: Path) -> dict[str, Path]:
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("ab"), rng.integers(1, 6))) for _ in range(60)]
    nouns = [rng.choice(NOUNS, 2).tolist() for _ in range(40)]
    verbs = rng.choice(VERBS, 40).tolist()
    sentences = [f"the {a} {v} a {b}" for (a, b), v in zip(nouns, verbs, strict=True)]
    content = {
        "strings": "\n".join(" ".join(word) for word in words),
        "numbers": "\n".join(f"{word}\t{word.count('a')}" for word in words),
        "labels": "\n".join(f"{word}\t{'xyz'[word.count('a') % 3]}" for word in words),
        "pairs": "\n".join(f"{word}\t{' '.join(word.upper())}" for word in words),
        "letters": "ab\nba\naab",
        "trees": "".join(TREE.format(a, v, b) for (a, b), v in zip(nouns, verbs, strict=True)),
        "words": "\n".join(sentences[:5]),
        "text": "\n".join(sentences + [f"the w{k} {v} a dog" for k in range(12) for v in VERBS]),
        "tags": "\n\n".join(
            "\n".join(f"{w} {t}" for w, t in zip(s.split(), "DNVDN", strict=True)) for s in sentences
        ),
        "arcs": "".join(CONLLU.format(a, v) for (a, _), v in zip(nouns, verbs, strict=True)),
        "series": "\n\n".join("\n".join(f"{x:.3f} {-x:.3f}" for x in rng.normal(size=8)) for _ in range(8)),
        "one word": "dog\nsees",
        "modifiers": "\n".join(f"w{k % 12}\t{a}" for k, (a, _) in enumerate(nouns)),
        "quadruples": "\n".join(
            f"{v} {a} with {b} {'NV'[a < b]}" for (a, b), v in zip(nouns, verbs, strict=True)
        ),
    }
    suffixes = {"arcs": ".conllu", "trees": ".mrg"}
    files = {name: place / (name.replace(" ", "-") + suffixes.get(name, ".txt")) for name in content}
    for name, path in files.items():
        path.write_text(content[name] + "\n")
    return files
