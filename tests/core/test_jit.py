"""The cache of kernels: never stale, never in the way."""

from __future__ import annotations

import errno
import importlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np
import pytest

from sigmastar.core import jit, kernel_store
from sigmastar.core.progress import Compilation, compilation, on_compile

JIT = jit.__name__
SOURCES = str(Path(__import__("sigmastar").__file__).parents[1])

HELPERS = f"from {JIT} import kernel, part\n"
LEAF = (
    HELPERS
    + "STEP = 1\n@part\ndef inner(x):\n    return x + STEP\n@kernel\ndef outer(x):\n    return 2 * x\n"
)
TOP = (
    HELPERS
    + "import leaf\nfrom leaf import inner\n@kernel\ndef top(x):\n    return inner(x) + leaf.outer(x)\n"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path with a helper module and one that uses it; the state of the cache is fresh."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    for name, empty in (("_refused", {}), ("_stranded", []), ("_swept", set())):
        monkeypatch.setattr(kernel_store, name, empty)
    (tmp_path / "leaf.py").write_text(LEAF)
    (tmp_path / "top.py").write_text(TOP)
    yield tmp_path
    for name in ("leaf", "top"):
        sys.modules.pop(name, None)


def fresh(name: str = "top") -> Any:
    """A module as a new process would see it: imported again, with nothing compiled."""
    for module in ("leaf", "top"):
        sys.modules.pop(module, None)
    importlib.invalidate_caches()
    return importlib.import_module(name)


def hits(kernel: Any) -> int:
    return sum(kernel.stats.cache_hits.values())


def entries(folder: Path, pattern: str = "*.nbc") -> list[Path]:
    return sorted(folder.rglob(pattern))


def in_process(folder: Path, code: str, **environment: str) -> subprocess.Popen[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    return subprocess.Popen(
        [sys.executable, "-B", "-c", code],
        env=kept | {"PYTHONPATH": f"{folder}{os.pathsep}{SOURCES}"} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def said(process: subprocess.Popen[str]) -> str:
    out, problems = process.communicate(timeout=120)
    assert process.returncode == 0, problems
    return out.strip()


SAY = "import top; print(top.top(10), sum(top.top.stats.cache_hits.values()))"


# Never stale.


def test_another_process_reads_what_one_has_compiled_until_a_helper_of_another_module_changes(
    folder: Path,
) -> None:
    assert said(in_process(folder, SAY)) == "31 0"
    assert said(in_process(folder, SAY)) == "31 1"
    (folder / "leaf.py").write_text(LEAF.replace("x + STEP", "x + 100 * STEP"))
    assert said(in_process(folder, SAY)) == "130 0"
    (folder / "leaf.py").write_text(LEAF)
    assert said(in_process(folder, SAY)) == "31 1"


@pytest.mark.parametrize(
    ("old", "new", "value"),
    [("STEP = 1", "STEP = 5", 35), ("2 * x", "7 * x", 81), ("x + STEP", "x - STEP", 29)],
)
def test_constants_parts_and_kernels_of_other_modules_are_noticed(
    folder: Path, old: str, new: str, value: int
) -> None:
    assert fresh().top(10) == 31
    (folder / "leaf.py").write_text(LEAF.replace(old, new))
    module = fresh()
    assert (module.top(10), hits(module.top)) == (value, 0)


def test_what_a_kernel_does_not_use_and_where_it_stands_do_not_matter(folder: Path) -> None:
    fresh().top(10)
    (folder / "leaf.py").write_text("# a comment\n\n" + LEAF + "UNUSED = 3\n")
    module = fresh()
    assert (module.top(10), hits(module.top)) == (31, 1)


def test_fields_of_a_named_tuple_that_change_places_are_noticed(folder: Path) -> None:
    pair = "from typing import NamedTuple\nclass Pair(NamedTuple):\n    {}: int\n    {}: int\n"
    (folder / "leaf.py").write_text(pair.format("first", "second"))
    (folder / "top.py").write_text(HELPERS + "@kernel\ndef top(pair):\n    return pair.first\n")
    assert fresh().top(fresh("leaf").Pair(1, 2)) == 1
    (folder / "leaf.py").write_text(pair.format("second", "first"))
    assert fresh().top(fresh("leaf").Pair(1, 2)) == 2


RECURSIVE = f"""{HELPERS}
@kernel
def top(n):
    if n < 2:
        return 1
    return n * top(n - 1)

def times(factor):
    @kernel
    def product(x):
        return factor * x
    return product
"""


def test_kernels_that_call_themselves_and_closures_have_entries(folder: Path) -> None:
    (folder / "top.py").write_text(RECURSIVE)
    for n_hits in (0, 1):
        module = fresh()
        doubled, tripled = module.times(2), module.times(3)
        assert (module.top(5), doubled(4), tripled(4)) == (120, 8, 12)
        assert [hits(f) for f in (module.top, doubled, tripled)] == [n_hits] * 3


def test_values_are_told_apart_and_the_order_of_sets_is_not() -> None:
    def facts(value: object) -> str:
        return repr(kernel_store.facts_of(value, (), {}))

    values = (0, 0.0, -0.0, False, None, "0", (0,), [0], np.int32(0), np.zeros(1), np.zeros(2), np.int32, int)
    assert len({facts(value) for value in (*values, len, np.sum, np.add)}) == len(values) + 3
    assert facts({"a", "b", "c"}) == facts({"c", "b", "a"})
    assert " at 0x" not in "".join(map(facts, (np.sum, np.add, len, jit.lowest_bit, time)))


BEYOND = """
import numpy as np, top
try:
    top.top(np.ones(3))
    print('unchecked')
except IndexError:
    print('checked')
"""


def test_checks_of_bounds_have_entries_of_their_own(folder: Path) -> None:
    (folder / "top.py").write_text(HELPERS + "@kernel\ndef top(x):\n    return x[9]\n")
    assert said(in_process(folder, BEYOND)) == "unchecked"
    assert said(in_process(folder, BEYOND, NUMBA_BOUNDSCHECK="1")) == "checked"
    assert len(entries(folder)) == 2


# Never in the way.


def truncated(content: bytes) -> bytes:
    return content[: len(content) // 2]


def flipped(content: bytes) -> bytes:
    return content[:-100] + bytes([content[-100] ^ 1]) + content[-99:]


@pytest.mark.parametrize("damage", [truncated, flipped, lambda _: b"", lambda _: b"foreign" * 99])
def test_a_damaged_entry_is_made_anew(folder: Path, damage: Callable[[bytes], bytes]) -> None:
    fresh().top(10)
    for path in entries(folder):
        path.write_bytes(damage(path.read_bytes()))
    module = fresh()
    assert (module.top(10), hits(module.top), jit.cache_problem()) == (31, 0, None)
    module = fresh()
    assert (module.top(10), hits(module.top)) == (31, 1)


def test_an_entry_that_is_whole_but_cannot_be_rebuilt_is_made_anew(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as context:
        context.setattr(kernel_store._serialize, "dumps", lambda _: b"no pickle, but sealed")
        fresh().top(10)
    assert fresh().top(10) == 31


def test_an_entry_under_the_name_of_another_is_not_taken(folder: Path) -> None:
    module = fresh()
    module.top(10)
    module.leaf.outer(10)  # by itself, from Python: only then it has an entry
    (ours,), (other,) = entries(folder, "top.top-*.nbc"), entries(folder, "leaf.outer-*.nbc")
    ours.write_bytes(other.read_bytes())
    assert fresh().top(10) == 31


def test_a_full_disk_stops_nothing_and_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(folder / "cache"))
    monkeypatch.setattr(os, "replace", no_space)
    assert fresh().top(10) == 31
    problem = jit.cache_problem()
    assert problem is not None
    assert str(folder / "cache") in problem
    assert "No space left" in problem
    assert "NUMBA_CACHE_DIR" in problem
    assert not entries(folder, "*.tmp")


def test_the_user_s_folder_is_next_where_the_sources_cannot_be_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "__pycache__").write_text("in the way, for root as well")
    monkeypatch.setattr(kernel_store, "_user_cache_dir", lambda *_, **__: str(folder / "user"))
    fresh().top(10)
    module = fresh()
    assert (module.top(10), hits(module.top), jit.cache_problem()) == (31, 1, None)
    assert entries(folder / "user")


@pytest.mark.parametrize("user", ["~/.cache/sigmastar", ""])
def test_without_any_folder_kernels_are_compiled_and_the_reason_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch, user: str
) -> None:
    (folder / "__pycache__").write_text("in the way")
    monkeypatch.setattr(kernel_store, "_user_cache_dir", lambda *_, **__: user)
    monkeypatch.chdir(folder)
    assert fresh().top(10) == 31
    assert str(folder / "__pycache__") in (jit.cache_problem() or "")
    assert {path.name for path in folder.iterdir()} == {"__pycache__", "leaf.py", "top.py"}


def test_a_folder_that_only_reads_serves_what_it_has(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh().top(10)

    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(kernel_store, "_write", refuse)
    module = fresh()
    assert (module.top(10), hits(module.top), jit.cache_problem()) == (31, 1, None)


def test_functions_without_a_file_are_compiled(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_store, "_user_cache_dir", lambda *_, **__: str(folder / "user"))
    module = ModuleType("leaf")
    sys.modules["leaf"] = module
    exec(compile(LEAF, "<prompt>", "exec"), module.__dict__)
    assert module.outer(4) == 8
    assert entries(folder / "user")


def test_processes_that_compile_at_once_agree(folder: Path) -> None:
    both = [in_process(folder, SAY) for _ in range(2)]
    assert [said(process).split()[0] for process in both] == ["31", "31"]
    assert said(in_process(folder, SAY)) == "31 1"
    assert not entries(folder, "*.tmp")


# What is told.


def test_compilation_is_told_once_and_timed_and_the_cache_takes_no_time(folder: Path) -> None:
    told: list[str] = []
    before = compilation.seconds()
    on_compile(lambda: told.append("compiling"))
    on_compile(lambda: told.append("forgotten"))()
    fresh().top(10)
    fresh().top(1.5)
    assert told == ["compiling"]
    after = compilation.seconds()
    assert after > before
    forget = on_compile(lambda: told.append("again"))
    fresh().top(10)
    forget()
    assert (told, compilation.seconds()) == (["compiling"], after)


def test_time_under_way_counts_and_what_is_nested_counts_once() -> None:
    watch = Compilation()
    for step in (watch.begin, watch.begin, watch.end):
        step()
    time.sleep(0.01)
    assert watch.seconds() >= 0.01
    watch.end()
    assert watch.seconds() == watch.seconds()


# What is swept.


def aged(folder: Path, name: str, days: float) -> Path:
    path = folder / name
    path.write_bytes(b"")
    os.utime(path, (time.time() - days * 86400,) * 2)
    return path


def entry_name(function: str, sources: int, types: int = 0) -> str:
    return f"{function}-{sources:016x}-{types:016x}.nbc"


def test_versions_of_a_kernel_that_are_old_and_many_go(folder: Path) -> None:
    kept = [aged(folder, entry_name("m.f", i), days=2 + i) for i in range(kernel_store._KEPT)]
    kept += [aged(folder, entry_name("m.f", 0, types=1), days=50)]  # of a version in use
    kept += [aged(folder, entry_name("m.g", 9), days=30), aged(folder, "f-12.py311.1.nbc", days=999)]
    gone = [aged(folder, entry_name("m.f", 7), days=40), aged(folder, entry_name("m.h", 1), days=100)]
    gone += [aged(folder, entry_name("m.f", 8) + ".0123456789abcdef.tmp", days=40)]
    kernel_store._sweep(str(folder))
    assert all(path.exists() for path in kept)
    assert not any(path.exists() for path in gone)


def test_versions_used_within_a_day_stay_however_many(folder: Path) -> None:
    paths = [aged(folder, entry_name("m.f", i), days=0.5) for i in range(3 * kernel_store._KEPT)]
    kernel_store._sweep(str(folder))
    assert all(path.exists() for path in paths)


def test_reading_an_entry_counts_as_use(folder: Path) -> None:
    fresh().top(10)
    (path,) = entries(folder, "top.top-*.nbc")
    os.utime(path, (0, 0))
    assert hits(fresh().top) == 0
    fresh().top(10)
    assert time.time() - path.stat().st_mtime < 3600


def test_a_sweep_under_a_running_process_costs_a_compilation_at_most(folder: Path) -> None:
    module = fresh()
    module.top(10)
    for path in entries(folder):
        path.unlink()
    assert module.top(10) == 31
    assert fresh().top(10) == 31


# Without compilation.


UNCOMPILED = f"""
import numpy as np, top
import {JIT} as jit
from sigmastar.core.progress import compilation
bits = [jit.lowest_bit(np.uint64(b)) for b in (1, 8, 2**63, 0)] + [jit.lowest_bit(12)]
print(top.top(10), [int(b) for b in bits], bits[0].dtype, compilation.seconds(), jit.cache_problem())
"""


def test_everything_works_with_compilation_off(folder: Path) -> None:
    expected = "31 [0, 3, 63, 64, 2] uint64 0.0 None"
    assert said(in_process(folder, UNCOMPILED, NUMBA_DISABLE_JIT="1")) == expected


@pytest.mark.parametrize("bits", [1, 6, 1 << 63, 0])
def test_the_lowest_bit_is_the_same_with_and_without(bits: int) -> None:
    @jit.part
    def inlined(x: int) -> int:
        return jit.lowest_bit(x)

    compiled = numba.njit(lambda x: inlined(x))
    assert compiled(np.uint64(bits)) == jit._lowest_bit(np.uint64(bits))
