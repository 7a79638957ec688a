from __future__ import annotations

import re
import subprocess

import numpy as np

from sigmastar import __version__
from sigmastar.automata.data.strings import Strings
from sigmastar.core import provenance as module
from sigmastar.core.model_format import hash_arrays, hash_strings
from sigmastar.core.provenance import cpu_model, git_commit, provenance


def test_hashes_see_contents_shapes_and_types():
    a = np.arange(6)
    others = [a + 1, a.reshape(2, 3), a.astype(np.int32), a[::-1]]
    hashes = {hash_arrays(x) for x in [a, *others]}
    assert len(hashes) == 5
    assert hash_arrays(a) == hash_arrays(a.copy())
    assert hash_arrays(a, a) != hash_arrays(a)
    assert re.fullmatch("[0-9a-f]{64}", hash_arrays(a))


def test_corpora_that_cut_differently_hash_differently():
    assert hash_strings(Strings.of(["ab", "c"])) != hash_strings(Strings.of(["a", "bc"]))


def test_entries_say_what_is_known():
    found = provenance(7, "abc", date="2026-01-02")
    entries = found.entries()
    assert (entries["Seed"], entries["Data (SHA-256)"], entries["Date"]) == ("7", "abc", "2026-01-02")
    assert f"sigmastar {__version__}" in entries["Software"]
    assert entries["Processor"] == cpu_model() != ""
    assert "Date" not in provenance(0).entries()
    assert "Seed" not in provenance(None).entries()


def test_commit_is_a_commit_or_unknown():
    commit = git_commit()
    assert commit is None or re.fullmatch("[0-9a-f]{40}( with changes)?", commit)


def test_without_git_the_commit_is_unknown(monkeypatch):
    def missing(*_, **__):
        raise FileNotFoundError("git")

    monkeypatch.setattr(subprocess, "run", missing)
    assert git_commit() is None


def test_an_installed_package_has_no_commit(monkeypatch, tmp_path):
    (tmp_path / ".git").mkdir()  # some other project's checkout around the environment
    monkeypatch.setattr(module, "__file__", str(tmp_path / "lib" / "sigmastar" / "report" / "provenance.py"))
    assert git_commit() is None
