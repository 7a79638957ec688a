"""The data sets that are known: where each lies, under which licence, and what its files say.

A line of `catalogue.tsv` is a file:

    set     file                     fingerprint   source
    spice   spice/0.spice.train.gz   fc46..        OWNER/REPOSITORY/COMMIT/PATH

The fingerprint is that of what a file says, not of how it is packed (`fingerprint`): the same whether lines
end as on Windows, whether a file is compressed, and whether a treebank has lemmas too. The source is a path
below `HOST`; `ARCHIVE.zip#MEMBER` is a member of an archive, `ARCHIVE.zip#PATTERN FIRST LAST` numbered ones,
one after the other; `ARCHIVE.zip#=CONVERSION PART` is made from it (`converting`). A set without sources is
one that users bring themselves.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

HOST = "https://raw.githubusercontent.com/"
_TABLE = Path(__file__).with_name("catalogue.tsv")
_KEPT = (0, 1, 3, 4, 6, 7)  # of CoNLL-U: number, form, both tags, head, relation


@dataclass(frozen=True)
class DataFile:
    """A file of a set.

    Parameters
    ----------
    path : str
        Below the folder of all data sets.
    fingerprint : str
        Of what it says.
    source : str
        Below `HOST`; empty where users bring it.
    """

    path: str
    fingerprint: str
    source: str = ""


@dataclass(frozen=True)
class DataSet:
    """A public data set.

    Parameters
    ----------
    name : str
        As commands have it.
    title : str
        What it is, in a line.
    licence : str
        What its makers state.
    page : str
        Where it comes from.
    cite : str
        What to cite.
    form : str
        What its files look like.
    files : tuple of DataFile
        All files, with their places.
    bring : str
        What users do to bring it, where it is not downloaded.
    """

    name: str
    title: str
    licence: str
    page: str
    cite: str
    form: str
    files: tuple[DataFile, ...] = ()
    bring: str = ""

    @property
    def is_downloadable(self) -> bool:
        """Whether all of it can be fetched."""
        return all(file.source for file in self.files)


def fingerprint(content: bytes, path: str) -> str:
    """The sha256 of what a file says.

    Parameters
    ----------
    content : bytes
        Of the file, not compressed.
    path : str
        Its name; the ending tells what counts.

    Examples
    --------
    >>> fingerprint(b"1 2\\r\\n", "x.train") == fingerprint(b" 1  2\\n", "x.train")
    True
    >>> fingerprint(b"1 2\\n", "x.train") == fingerprint(b"1 3\\n", "x.train")
    False
    """
    name = path.removesuffix(".gz")
    if name.endswith((".safetensors", ".json", ".py")):
        return hashlib.sha256(content).hexdigest()
    found = hashlib.sha256()
    for line in _said(content, name):
        found.update(line + b"\n")
    return found.hexdigest()


def _said(content: bytes, name: str) -> Iterator[bytes]:
    """Lines without what may differ: blanks at their ends, runs of empty ones, columns that nobody reads."""
    between = False  # an empty line counts where lines follow
    for line in content.splitlines():
        if name.endswith(".conllu"):
            if line.startswith(b"#") and not line.startswith(b"# sent_id"):
                continue
            cells = line.split(b"\t")
            line = b" ".join(cells[column] for column in _KEPT) if len(cells) == 10 else line
        line = b" ".join(line.split())
        if line and between and not name.endswith(".mrg"):
            yield b""
        if line:
            yield line
        between = not line


_NLTK = "https://www.nltk.org/nltk_data/"
_SETS = (
    DataSet(
        "pautomac",
        "Strings of known probabilistic automata, with true probabilities: 31 problems of PAutomaC",
        "free for academic research only",
        "https://github.com/tudelft-cda-lab/FlexFringe",
        "Verwer, Eyraud, de la Higuera: PAutomaC, Machine Learning 96, 2014",
        "strings `length s1 s2 ..` below a line `number-of-strings alphabet-size`; solutions; machines",
    ),
    DataSet(
        "spice",
        "Next symbols of the SPiCe competition: problems 0, 1, 4, 6, 9",
        "not licensed: free to be used in any way",
        "https://github.com/thinkzhou/SPICE",
        "Balle, Eyraud, Luque, Quattoni, Verwer: Results of the SPiCe competition, ICGI 2016",
        "strings as of pautomac; targets `denominator symbol probability ..` per prefix",
    ),
    DataSet(
        "ud-english-ewt",
        "Universal Dependencies, English Web Treebank 2.16: tags and dependencies",
        "CC BY-SA 4.0",
        "https://universaldependencies.org/treebanks/en_ewt",
        "Silveira et al.: A gold standard dependency corpus for English, LREC 2014",
        "CoNLL-U",
    ),
    DataSet(
        "conll2000",
        "Chunks and tags of newswire, sections 15-18 and 20",
        "none stated; derived from the Penn Treebank, for research",
        "https://www.clips.uantwerpen.be/conll2000/chunking/",
        "Tjong Kim Sang, Buchholz: Introduction to the CoNLL-2000 shared task, 2000",
        "`word tag chunk` per line, an empty line between sentences",
    ),
    DataSet(
        "wikitext-2",
        "Words of Wikipedia's good articles, two million of them",
        "CC BY-SA 3.0, as Wikipedia's text",
        "https://github.com/pytorch/examples/tree/main/word_language_model/data/wikitext-2",
        "Merity, Xiong, Bradbury, Socher: Pointer sentinel mixture models, ICLR 2017",
        "words between blanks, a paragraph per line",
    ),
    DataSet(
        "treebank-sample",
        "Trees and dependencies of the Penn Treebank sample: 3914 sentences",
        "a fragment of the Penn Treebank, (C) LDC 1995, under fair use; for non-commercial use only",
        _NLTK,
        "Marcus, Santorini, Marcinkiewicz: Building a large annotated corpus of English, 1993",
        "trees in brackets; `word TAB tag TAB head` per line",
    ),
    DataSet(
        "ppattach",
        "Prepositional phrases: does the verb or the noun take them?",
        "distributed with the permission of the author",
        _NLTK,
        "Ratnaparkhi, Reynar, Roukos: A maximum entropy model for prepositional phrase attachment, 1994",
        "`id verb noun preposition noun attachment` per line",
    ),
    DataSet(
        "brown",
        "Brown corpus with hand-corrected tags",
        "for non-commercial purposes",
        _NLTK,
        "Francis, Kucera: Brown corpus manual, 1979",
        "`word TAB tag` per line, an empty line between sentences; of the 500 samples in the order of their "
        "names, number mod 10 = 8 is dev, 9 is test, counted from 0",
    ),
    DataSet(
        "cmudict",
        "Pronunciations of English words",
        "unrestricted for research and commercial purposes",
        _NLTK,
        "The Carnegie Mellon Pronouncing Dictionary, 0.7a",
        "`word TAB phones` per line, words of a-z and ' alone; split by sha1(upper-case word) mod 20: "
        "18 is dev, 19 is test",
    ),
    DataSet(
        "taysir",
        "Ten trained networks of TAYSIR 2023, black boxes to distil",
        "Creative Commons, as the organizers state",
        "https://github.com/neuralchecker/Taysir_Competition",
        "Eyraud et al.: TAYSIR Competition, PMLR 217, 2023",
        "weights as safetensors, since pickles, as the networks come, can run code; words as of pautomac",
        bring="N.valid.words.gz is the beginning of TAYSIR/datasets/N.taysir.valid.words there (1,000 words"
        " of track 1, 2,000 of track 2); N.safetensors has the weights of TAYSIR/models/N.taysir.model, which"
        " only PyTorch opens",
    ),
)


@cache
def data_sets() -> dict[str, DataSet]:
    """All data sets by name.

    Examples
    --------
    >>> data_sets()["ud-english-ewt"].licence
    'CC BY-SA 4.0'
    """
    files: dict[str, list[DataFile]] = {entry.name: [] for entry in _SETS}
    for line in _TABLE.read_text(encoding="utf-8").splitlines()[1:]:
        name, path, said, source = line.split("\t")
        files[name].append(DataFile(path, said, source))
    return {s.name: DataSet(**{**vars(s), "files": tuple(files[s.name])}) for s in _SETS}
