"""Kernels that are called by their address.

A kernel that another one calls by its name is compiled into it, with all that it calls itself, and
once more into whatever calls that one. Called by its address it is compiled once, by itself, and
only where a run needs it. The caller must know the types of the arguments; tuples of arrays
are lent (:mod:`outpoint.borrowing`), so all of them look alike.
"""

from collections.abc import Callable
from typing import Any, cast

import numba
from numba.core import cgutils, types
from numba.extending import intrinsic

from outpoint.borrowing import Borrowed, lend, words_of

RESULT = types.UniTuple(types.int64, 2)
"""What kernels that are called by their address return."""


def address_of(kernel: Any, *arguments: Any) -> Any:
    """The address of the kernel for arguments of these types; without Numba the kernel itself."""
    if numba.config.DISABLE_JIT:
        return kernel
    kinds = tuple(numba.typeof(lend(argument)) for argument in arguments)
    kernel.compile(kinds)
    compiled = kernel.overloads[kinds]
    if compiled.signature.return_type != RESULT:
        found = compiled.signature.return_type
        raise TypeError(f"{kernel.py_func.__name__} must return {RESULT}, not {found}.")
    return compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)


def loan_address(loan: Any) -> Any:
    """The address of the words of a tuple that was lent; without Numba the tuple itself."""
    return loan if numba.config.DISABLE_JIT else loan.address


def _call(typing_context: Any, address: Any, arguments: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kinds = list(signature.args[1])
        function_type = context.call_conv.get_function_type(RESULT, kinds)
        function = builder.inttoptr(values[0], function_type.as_pointer())
        status, result = context.call_conv.call_function(
            builder, function, RESULT, kinds, cgutils.unpack_tuple(builder, values[1])
        )
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        return result

    return RESULT(address, arguments), generate


def _words_at(typing_context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.inttoptr(values[0], words_of(None))

    return Borrowed(None)(address), generate


def _call_plainly(function: Callable[..., Any], arguments: Any) -> Any:
    return function(*arguments)


call_at: Callable[..., Any] = (
    _call_plainly if numba.config.DISABLE_JIT else cast(Any, intrinsic(_call))
)
"""Call the kernel at an address with a tuple of arguments."""

lent_at: Callable[..., Any] = (
    (lambda lent: lent) if numba.config.DISABLE_JIT else cast(Any, intrinsic(_words_at))
)
"""The lent tuple at an address, to be handed on without looking into it."""
