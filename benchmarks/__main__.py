"""The command line of the benchmarks: `python -m benchmarks [question ...] [options]`."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

from rich.console import Console

from benchmarks.corpora import data_folder
from benchmarks.harness import Question, Settings, Skip, say
from benchmarks.run import ask

QUESTIONS = (
    "startup",
    "serving",
    "explorer",
    "readers",
    "brackets",
    "scoring",
    "em_iteration",
    "continuous",
    "grammar_em",
    "memory",
    "scale",
    "words",
    "one_string",
    "control",
    "hankel_completion",
    "regression",
    "distilled_classifiers",
    "completion",
    "languages",
    "spice",
    "next_tags",
    "tagging",
    "transduction",
    "grammar_induction",
    "dependency",
    "pipelines",
    "treebank",
    "bilexical",
    "distillation",
    "splearn",
    "pautomac",
)  # the quick ones first


def question_named(name: str) -> Question:
    question: Question = importlib.import_module(f"benchmarks.{name}").QUESTION
    return question


def parse(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure speed and quality.")
    parser.add_argument("questions", nargs="*", metavar="question", help=f"of {', '.join(QUESTIONS)}; all")
    parser.add_argument("--quick", action="store_true", help="few problems, little data: to try things out")
    parser.add_argument("--problems", type=_names, help="only these problems, as in 7,31")
    parser.add_argument("--methods", type=_names, help="only these methods, as in fast,auto")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--resume", action="store_true", help="keep the finished problems of the last run")
    arguments = parser.parse_args(words)
    for name in arguments.questions:
        if name not in QUESTIONS:
            parser.error(f"there is no question {name!r}; choose from {', '.join(QUESTIONS)}")
    return arguments


def main(words: Sequence[str] | None = None) -> int:
    arguments = parse(words)
    settings = Settings(arguments.seed, arguments.quick, arguments.problems, arguments.methods, data_folder())
    console = Console(width=None if sys.stdout.isatty() else 160)
    failed = False
    for name in arguments.questions or QUESTIONS:
        try:
            failed |= not ask(question_named(name), settings, console, arguments.resume)
        except Skip as reason:
            say(f"{name}: skipped: {reason}")
        except KeyboardInterrupt:
            say(f"{name}: interrupted; --resume goes on from here")
            return 130
    return int(failed)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


if __name__ == "__main__":
    sys.exit(main())
