"""Tuples of arrays, handed to kernels by their address, and kernels that are called by theirs.

Numba hands a named tuple of arrays on by value: seven numbers for each array, to every kernel, and
the code that does so takes longer to compile than most kernels themselves. Here the arrays of a
tuple are described once, in a table of 64-bit words, and kernels take the address of that table:
:func:`lend` makes it for calls from Python, :func:`borrowed` within a kernel. The words of an array
are its address, its shape and its strides; that of a number is its value; those of a tuple in a
tuple follow each other. Looking up a field reads what is needed of it and counts no references,
which makes it free in a loop. Whoever lends a tuple keeps it, and thereby its arrays, while it is
used.

A kernel that another one calls by its name is compiled into it, with all that it calls itself, and
once more into whatever calls that one. Called by its address it is compiled once, by itself, and
only where a run needs it. The caller must know the types of the arguments; tuples of arrays
are lent, so all of them look alike.
"""

import struct
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    intrinsic,
    lower_getattr_generic,
    register_model,
    unbox,
)
from numba.np.arrayobj import populate_array

T = TypeVar("T")
WORD = ir.IntType(64)
TUPLES = types.NamedTuple, types.NamedUniTuple
NUMBERS = types.int64, types.float64, types.boolean


class Borrowed(types.Type):  # type: ignore[misc]
    """A named tuple, or one that nobody looks into, by the address of its words."""

    def __init__(self, kind: Any, *, in_frame: bool = False) -> None:
        self.kind = kind
        self.in_frame = in_frame
        # All of the type is in the name of every function that takes it: a digest is short.
        digest = sha256(str(kind).encode()).hexdigest()[:16]
        super().__init__(name=f"{'InFrame' if in_frame else 'Borrowed'}({digest})")


@register_model(Borrowed)
class _BorrowedModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, words_of(kind.kind))


def count_words(kind: Any) -> int:
    """Number of words of a field of this type; a TypeError for types that a field cannot have."""
    if isinstance(kind, types.Array):
        return 1 + 2 * int(kind.ndim)
    if isinstance(kind, TUPLES):
        return sum(map(count_words, kind))
    if kind in NUMBERS:
        return 1
    raise TypeError(f"a field of a tuple that is lent cannot be {kind}.")


def words_of(kind: Any) -> Any:
    """The type of the address of a tuple's words; of an unknown tuple (None), of no words."""
    n_words = 0 if kind is None else count_words(kind)
    return ir.ArrayType(WORD, n_words).as_pointer()


# In Python


class Loan:
    """A tuple that is lent to kernels: its words, and the tuple itself."""

    __slots__ = "_numba_type_", "address", "tuple", "words"

    def __init__(self, lent: Any, words: Any, kind: Borrowed) -> None:
        self.tuple = lent
        self.words = words
        self.address = words.ctypes.data
        self._numba_type_ = kind


_KINDS: dict[Any, Borrowed] = {}


def lend(value: Any) -> Any:
    """A named tuple as kernels take it; anything else as it is."""
    if numba.config.DISABLE_JIT or not hasattr(value, "_fields"):
        return value
    words: list[int] = []
    key = tuple(_describe(value, words))
    if key not in _KINDS:
        kind = numba.typeof(value)
        count_words(kind)
        _KINDS[key] = Borrowed(kind)
    return Loan(value, np.array(words, dtype=np.int64), _KINDS[key])


def _describe(value: Any, words: list[int]) -> Iterator[Any]:
    """Append the words of a tuple; yields what its type depends on."""
    yield type(value)
    for field in value:
        if isinstance(field, np.ndarray):
            words.append(field.ctypes.data)
            words += field.shape
            words += field.strides
            yield field.dtype, field.ndim, field.flags.num
        elif isinstance(field, tuple):
            yield from _describe(field, words)
        else:
            is_float = isinstance(field, float)
            words.append(struct.unpack("q", struct.pack("d", field))[0] if is_float else field)
            yield type(field)


@unbox(Borrowed)  # type: ignore[untyped-decorator]
def _unbox(kind: Any, loan: Any, c: Any) -> Any:
    address = c.pyapi.object_getattr_string(loan, "address")
    word = c.pyapi.number_as_ssize_t(address)
    c.pyapi.decref(address)
    return NativeValue(c.builder.inttoptr(word, words_of(kind.kind)))


# In kernels


@infer_getattr
class _Fields(AttributeTemplate):  # type: ignore[misc]
    key = Borrowed

    def generic_resolve(self, borrowed: Any, name: str) -> Any:
        if borrowed.kind is None or name not in borrowed.kind.fields:
            return None
        field = borrowed.kind.types[borrowed.kind.fields.index(name)]
        is_tuple = isinstance(field, TUPLES)
        return Borrowed(field, in_frame=borrowed.in_frame) if is_tuple else field


@lower_getattr_generic(Borrowed)  # type: ignore[untyped-decorator]
def _look_up(context: Any, builder: Any, borrowed: Any, address: Any, name: str) -> Any:
    index = borrowed.kind.fields.index(name)
    kind = borrowed.kind.types[index]
    start = sum(map(count_words, borrowed.kind.types[:index]))
    here = cgutils.gep_inbounds(builder, address, 0, start)
    if isinstance(kind, TUPLES):
        return builder.bitcast(here, words_of(kind))
    load = _Loader(builder, here, is_constant=not borrowed.in_frame)
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder)
        size = context.get_abi_sizeof(array.data.type.pointee)
        populate_array(
            array,
            data=load(0, array.data.type),
            shape=[load(1 + i) for i in range(kind.ndim)],
            strides=[load(1 + kind.ndim + i) for i in range(kind.ndim)],
            itemsize=context.get_constant(types.intp, size),
            meminfo=None,
        )
        return array._getvalue()
    if kind == types.float64:
        return load(0, ir.DoubleType())
    return builder.trunc(load(0), ir.IntType(1)) if kind == types.boolean else load(0)


class _Loader:
    """Reads words. Those that Python has written do not change: loops need not read them again."""

    def __init__(self, builder: Any, address: Any, *, is_constant: bool) -> None:
        self.builder = builder
        self.address = address
        self.is_constant = is_constant

    def __call__(self, index: int, kind: Any = WORD) -> Any:
        here = cgutils.gep_inbounds(self.builder, self.address, index)
        word = self.builder.load(self.builder.bitcast(here, kind.as_pointer()))
        if self.is_constant:
            word.set_metadata("invariant.load", self.builder.module.add_metadata([]))
        return word


def _store(context: Any, builder: Any, kind: Any, value: Any, here: Any) -> None:
    """Write the words of a value."""
    if isinstance(kind, TUPLES):
        for part, item in zip(kind, cgutils.unpack_tuple(builder, value), strict=True):
            _store(context, builder, part, item, here)
            here = cgutils.gep_inbounds(builder, here, count_words(part))
    elif isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        sizes = [
            *cgutils.unpack_tuple(builder, array.shape),
            *cgutils.unpack_tuple(builder, array.strides),
        ]
        builder.store(array.data, builder.bitcast(here, array.data.type.as_pointer()))
        for i, size in enumerate(sizes):
            builder.store(size, cgutils.gep_inbounds(builder, here, 1 + i))
    elif kind == types.float64:
        builder.store(value, builder.bitcast(here, value.type.as_pointer()))
    else:
        builder.store(builder.zext(value, WORD) if kind == types.boolean else value, here)


def _borrow_again(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Hand on a tuple; all its words can be read, even those the kernel might not look at."""
    for argument in builder.function.args:
        if argument.type == arguments[0].type:
            argument.attributes.dereferenceable = 8 * count_words(signature.args[0].kind)
    return arguments[0]


def _borrow_tuple(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Write the words in the frame of this kernel."""
    kind = signature.args[0]
    address = cgutils.alloca_once(builder, words_of(kind).pointee)
    _store(context, builder, kind, arguments[0], builder.bitcast(address, WORD.as_pointer()))
    return address


def _borrow_array(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    array.meminfo = cgutils.get_null_value(array.meminfo.type)
    array.parent = cgutils.get_null_value(array.parent.type)
    return array._getvalue()


def _borrow(typing_context: Any, value: Any) -> Any:
    if isinstance(value, TUPLES):
        return Borrowed(value, in_frame=True)(value), _borrow_tuple
    if isinstance(value, Borrowed):
        return value(value), _borrow_again
    return value(value), _borrow_array


borrowed: Callable[[T], T] = (
    (lambda value: value) if numba.config.DISABLE_JIT else cast(Any, intrinsic(_borrow))
)
"""A tuple of arrays, or an array, without its reference counts.

Every look into a tuple would count references up and down, which makes small helpers ten times
slower. Kernels begin by borrowing their arguments; the caller's own references keep the arrays
alive while the kernel runs. A tuple that a kernel has itself made from parts of such arrays can be
borrowed and handed on, but not returned: its words are in the frame of the kernel.
"""


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
