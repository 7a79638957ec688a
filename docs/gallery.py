"""The gallery of examples: code, what it prints, a picture; made when the documentation is built.

Examples are run by `make examples`, and by the tests, not by the build, which stays short: what they print is
kept in `examples/output/`.
"""

from __future__ import annotations

import ast
from pathlib import Path

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "examples"
PAGE = HERE / "generated" / "gallery.md"

SHOWN = {
    "distil_a_sequence_model": (
        "../images/distillation.svg",
        "What a stand-in looks like: here that of a network over three symbols, from the guide.",
    ),
    "exact_recovery": (
        "../pictures/hankel.svg",
        "The block and its slices, which are all that recovery needs.",
    ),
    "generate_under_constraints": (
        "../images/control.png",
        "Probabilities of symbols by positions, without and with the rule.",
    ),
    "grid_search": ("../pictures/spectrum.svg", "How many states: those that stand above the noise."),
    "induce_a_grammar": ("../pictures/bracketing.svg", "Phrases without names, as they are induced."),
    "learn_a_grammar": ("../pictures/risk.svg", "The excess risk falls with the number of trees."),
    "learn_an_automaton": ("../pictures/hmm.svg", "A machine like the one that the strings are drawn from."),
    "model_words": ("../pictures/next-words.svg", "What comes after a word, of a little English."),
    "modifiers_of_a_head": (
        "../pictures/relation.svg",
        "Heads and modifiers that point the same way go together.",
    ),
    "negative_mass": (
        "../pictures/next-symbols.svg",
        "Next symbols of a string, after repair: nothing below zero.",
    ),
    "parse_a_treebank": ("../pictures/arcs.svg", "Arcs from heads to words, as they are parsed."),
    "parse_with_hidden_states": (
        "../pictures/wrong-tree.svg",
        "A parse beside the right tree: what is wrong is dashed.",
    ),
    "pronounce_words": ("../pictures/lattice.svg", "Alignments of letters with sounds."),
    "regression_on_strings": ("../pictures/holes.svg", "Values that are seen, and all of them."),
    "stragglers_and_failures": (
        "../pictures/measured-readers.svg",
        "What one core reads in a second: shards multiply it.",
    ),
    "tag_sentences": ("../pictures/tags.svg", "Tags of a sentence: rings are the true ones."),
}


def write(app: object = None) -> None:
    """The page, below `generated/`."""
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")


def page() -> str:
    """Markdown: a section per script of `examples/`."""
    lines = [
        "# Gallery of examples",
        "",
        "Each script runs by itself, on data that it generates: `python examples/NAME.py`. What it prints",
        "was kept from a run of `make examples`; seconds differ from machine to machine.",
        "",
    ]
    for script in sorted(EXAMPLES.glob("*.py")):
        lines += _section(script)
    return "\n".join(lines)


def _section(script: Path) -> list[str]:
    source = script.read_text(encoding="utf-8")
    text = ast.get_docstring(ast.parse(source)) or ""
    picture, caption = SHOWN.get(script.stem, ("", ""))
    figure = [f":::{{figure}} {picture}", f":alt: {caption}", caption, ":::", ""] if picture else []
    printed = EXAMPLES / "output" / f"{script.stem}.txt"
    said = printed.read_text(encoding="utf-8").rstrip() if printed.exists() else "run make examples"
    return [
        f"## {script.stem.replace('_', ' ').capitalize()}",
        "",
        text,
        "",
        *figure,
        f"```{{literalinclude}} ../../examples/{script.name}",
        ":language: python",
        "```",
        "",
        "It prints:",
        "",
        "```text",
        said,
        "```",
        "",
    ]
