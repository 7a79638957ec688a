"""What numba does with kernels that it need not do, left out.

    parts       are written into a kernel without two copies of their code
    copies      y = x, of which parts leave one per argument, and reading a field again that was read on every
                way to it, are no variables of their own
    references  are counted by the fields of a value that hold one, not by all the numbers of its shape
    libraries   are those of `kernel_library`

Each variable of a kernel is typed, lowered and counted: a named tuple of 20 arrays that passes through five
parts was 100 arrays before LLVM could see that they are 20. No arithmetic is touched, and no function of
others: numba's counter of references is changed while a kernel is lowered, which numba does under a lock.

A copy y = x may go where x and y are assigned once, x on every way to y, and y on every way to its uses: the
rule of static single assignment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

from numba.core import (
    analysis,
    compiler,
    compiler_machinery,
    inline_closurecall,
    ir,
    ir_utils,
    typed_passes,
    untyped_passes,
)
from numba.core.runtime import context

from sigmastar.core.kernel_library import Library

_FunctionPass: Any = compiler_machinery.FunctionPass
_InlineInlinables: Any = untyped_passes.InlineInlinables
_InlineWorker: Any = inline_closurecall.InlineWorker
_NativeLowering: Any = typed_passes.NativeLowering
_Block: Any = ir.Block
_analysis: Any = analysis
_builder: Any = compiler.DefaultPassBuilder
_inlining: Any = inline_closurecall
_ir: Any = ir
_ir_utils: Any = ir_utils
_machinery: Any = compiler_machinery
_new_pass: Any = _machinery.register_pass(mutates_CFG=True, analysis_only=False)
_References: Any = context.NRTContext


def passes(state: Any) -> list[Any]:
    """Numba's passes over a kernel, with those of this module among them."""
    manager = _with_own(_builder.define_nopython_pipeline(state), {**_WRITING, _NativeLowering: _Lower})
    manager.add_pass_after(_Shorten, _WriteParts)
    manager.finalize()
    return [manager]


def _untyped_passes(state: Any) -> Any:
    return _with_own(_builder.define_untyped_pipeline(state), _WRITING)


def _with_own(manager: Any, own: dict[Any, Any]) -> Any:
    manager.passes = [(own.get(one, one), text) for one, text in manager.passes]
    return manager


# Parts are written into the kernels that call them.


class _Owned(_Block):  # type: ignore[misc]
    """A block that nobody else holds: its copy is itself."""

    def __deepcopy__(self, memo: object) -> _Owned:
        return self


class _Writer(_InlineWorker):  # type: ignore[misc]
    """Writes a part into a kernel. Numba copies twice what it has just made, with all variables per block."""

    def __init__(self, state: Any) -> None:
        around = (state.typingctx, state.targetctx, state.locals, state.pipeline, state.flags)
        super().__init__(*around, validator=_inlining.callee_ir_validator)
        self._compiler_pipeline = _untyped_passes

    def run_untyped_passes(self, func: Any, enable_ssa: bool = False) -> Any:
        written = super().run_untyped_passes(func, enable_ssa)
        for block in written.blocks.values():
            block.__class__ = _Owned
        return written


@_new_pass
class _WriteParts(_InlineInlinables):  # type: ignore[misc]
    _name = "sigmastar_write_parts"

    def _do_work(self, state: Any, work_list: Any, block: Any, i: int, expr: Any, _: Any) -> Any:
        return super()._do_work(state, work_list, block, i, expr, _Writer(state))


_WRITING = {_InlineInlinables: _WriteParts}


# Copies and fields that were read before are no variables of their own.


@_new_pass
class _Shorten(_FunctionPass):  # type: ignore[misc]
    _name = "sigmastar_shorten"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        shorten(state.func_ir)
        return True


def shorten(kernel: Any) -> None:
    """Leave copies out of a kernel, and fields that were read before."""
    places = _Places.of(kernel.blocks)
    for find in (_copies, _read_again):
        same = find(kernel.blocks, places)
        if same:
            _merge(kernel.blocks, same)
            places = _Places.of(kernel.blocks)
    kernel._definitions = _ir_utils.build_definitions(kernel.blocks)


class _Place(NamedTuple):
    """A statement: the label of its block, and its number there."""

    block: int
    number: int


class _Places(NamedTuple):
    """Where variables that are assigned once are; those that may be read before have none."""

    assigned: dict[str, _Place]
    dominators: dict[int, set[int]]
    called: set[str]

    @classmethod
    def of(cls, blocks: dict[int, Any]) -> _Places:
        places = cls({}, _analysis.compute_cfg_from_blocks(blocks).dominators(), set())
        times, uses = Counter[str](), list[tuple[str, _Place]]()
        for place, statement in _statements(blocks):
            names = [variable.name for variable in statement.list_vars()]
            if _is_assignment(statement):
                target = statement.target.name
                times[target] += 1
                places.assigned[target] = place
                names = _names_read(statement.value)
                places.called.update(_called(statement.value))
            uses += [(name, place) for name in names]
        for name, number in times.items():
            if number > 1:
                del places.assigned[name]
        for name, place in uses:
            if name in places.assigned and not places.is_before(places.assigned[name], place):
                del places.assigned[name]
        return places

    def is_before(self, one: _Place, two: _Place) -> bool:
        """Whether `one` is passed on every way to `two`."""
        if one.block == two.block:
            return one.number < two.number
        return one.block in self.dominators.get(two.block, ())  # no way leads to blocks without


def _statements(blocks: dict[int, Any]) -> Iterator[tuple[_Place, Any]]:
    for label, block in blocks.items():
        for number, statement in enumerate(block.body):
            yield _Place(label, number), statement


def _is_assignment(statement: Any) -> bool:
    return isinstance(statement, _ir.Assign)


def _names_read(value: Any) -> list[str]:
    if isinstance(value, _ir.Var):
        return [value.name]
    return [variable.name for variable in value.list_vars()] if isinstance(value, _ir.Expr) else []


def _called(value: Any) -> Iterable[str]:
    is_call = isinstance(value, _ir.Expr) and value.op == "call"
    return [value.func.name] if is_call else []


Same = dict[str, Any]
"""The variable that stands for another, by the name of the other."""


def _copies(blocks: dict[int, Any], places: _Places) -> Same:
    same = dict[str, Any]()
    for _, statement in _statements(blocks):
        if _is_assignment(statement) and isinstance(statement.value, _ir.Var):
            one, two = statement.target.name, statement.value.name
            if one in places.assigned and two in places.assigned:
                same[one] = statement.value
    return same


def _read_again(blocks: dict[int, Any], places: _Places) -> Same:
    """Fields that are read where they were read before. Methods are not: they are bound for one call."""
    reads_of, same = dict[tuple[str, str], list[Any]](), dict[str, Any]()
    known = places.assigned.keys() - places.called
    for place, statement in _statements(blocks):
        if not _is_assignment(statement) or getattr(statement.value, "op", None) != "getattr":
            continue
        value, target = statement.value, statement.target
        if {target.name, value.value.name} <= known:
            reads_of.setdefault((value.value.name, value.attr), []).append((place, target))
    for reads in reads_of.values():
        for place, target in reads:
            before = [one for where, one in reads if places.is_before(where, place)]
            if before:
                same[target.name] = before[0]
    return same


def _merge(blocks: dict[int, Any], same: Same) -> None:
    """Write one variable for another, and nothing where the other was assigned."""
    last = {name: _end(name, same) for name in same}
    for block in blocks.values():
        block.body = [one for one in block.body if not (_is_assignment(one) and one.target.name in same)]
    _ir_utils.replace_vars(blocks, last)


def _end(name: str, same: Same) -> Any:
    while same[name].name in same:
        name = same[name].name
    return same[name]


# Code is written with a library of its own, and references are counted where there are any.


@_new_pass
class _Lower(_NativeLowering):  # type: ignore[misc]
    _name = "sigmastar_lower"

    def run_pass(self, state: Any) -> bool:
        if state.library is None:
            state.library = Library(state.targetctx.codegen(), state.func_id.func_qualname)
            state.library.enable_object_caching()
        with _few_references():
            return bool(super().run_pass(state))


@contextmanager
def _few_references() -> Iterator[None]:
    usual = _References.get_meminfos
    _References.get_meminfos = _references
    try:
        yield
    finally:
        _References.get_meminfos = usual


@cache
def _has_references(model: Any) -> bool:
    return bool(model.contains_nrt_meminfo())


def _references(self: Any, builder: Any, ty: Any, val: Any) -> list[Any]:
    """As numba's own, which takes every number out of every shape to see that it holds none."""
    models = self._context.data_model_manager
    model = models[ty]
    found = [(ty, model.get_nrt_meminfo(builder, val))] if model.has_nrt_meminfo() else []
    for inner, field in model.traverse(builder):
        if _has_references(models[inner]):
            found += self.get_meminfos(builder, inner, field(val))
    return found
