"""Machine code for those functions alone that Python calls.

Numba optimizes each function by itself, makes machine code of it, and links it into its callers, where it is
optimized and made machine code again. Here a function that only others call waits for them: a library is
finished when an address in it is asked for. Kernels alone have such libraries: other functions of the same
process, numba's own included, are compiled as ever.
"""

from __future__ import annotations

from typing import Any

from numba.core import codegen
from numba.core.environment import lookup_environment

_JITCodeLibrary: Any = codegen.JITCodeLibrary
_environment: Any = lookup_environment
_ENVIRONMENT = "_ZN08NumbaEnv"
_HAS_PASS_BUILDERS = hasattr(codegen, "create_pass_builder")  # older versions of numba have other passes


class Library(_JITCodeLibrary):  # type: ignore[misc]
    """The code of a kernel, and later its address."""

    _is_finished = False

    @property
    def codegen(self) -> Any:
        """What numba sets environments by; before there is a place for them they wait too."""
        return super().codegen if self._is_finished else _NothingToSet

    def _optimize_functions(self, ll_module: Any) -> None:
        """As numba's own, with passes that are built once, and none for functions that are only declared."""
        if _HAS_PASS_BUILDERS:
            ll_module.data_layout = self._codegen._data_layout
            passes, builder = self._codegen._function_pass_manager()
            for function in ll_module.functions:
                if not function.is_declaration:
                    passes.run(function, builder)
        else:
            super()._optimize_functions(ll_module)

    def _optimize_final_module(self) -> None:
        """Put off until the library is finished."""

    def _finalize_final_module(self) -> None:
        if self._object_caching_enabled and self._compiled_object is not None:  # it comes from the cache
            self._finish()
        else:
            self._finalize_dynamic_globals()
            self._verify_declare_only_symbols()
            self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        if not self._is_finished and self._defines(name):
            super()._optimize_final_module()
            self._final_module.verify()
            self._finish()
            self._set_environments()
        address: int = super().get_pointer_to_function(name)
        return address

    def _defines(self, name: str) -> bool:
        return any(one.name == name and not one.is_declaration for one in self._final_module.functions)

    def _finish(self) -> None:
        self._is_finished = True
        self._dynamic_globals.clear()  # they are found again
        super()._finalize_final_module()

    def _set_environments(self) -> None:
        """Those of functions that were linked in; they had no place before."""
        for variable in self._final_module.global_variables:
            if variable.name.startswith(_ENVIRONMENT):
                environment, engine = _environment(variable.name), self._codegen._engine
                if environment is not None and engine.get_global_value_address(variable.name):
                    self._codegen.set_env(variable.name, environment)


class _NothingToSet:
    """As numba's own, for code that has no address."""

    @staticmethod
    def set_env(env_name: str, env: Any) -> None:
        """Nothing: `Library` does it when it is finished."""
