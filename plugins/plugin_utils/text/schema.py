# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shape of a document that was read from a file: the first field that is missing or of another type, by its name."""

from __future__ import annotations

import functools
import re
import typing as t
from dataclasses import dataclass

from .shortened import shortened


@dataclass(frozen=True)
class Each:
    """A list whose elements, or a mapping whose values, have a shape; keys: what a mapping's keys must match."""

    shape: t.Any
    of: type[t.Any] = list
    keys: str = ""


@dataclass(frozen=True)
class Maybe:
    """A shape, or null."""

    shape: t.Any


@dataclass(frozen=True)
class MayLack:
    """The shape of a mapping's field that may be missing."""

    shape: t.Any


@dataclass(frozen=True)
class OneOf:
    """One of some words."""

    words: tuple[str, ...]


@dataclass(frozen=True)
class Cells:
    """A list of so many elements, each of a shape."""

    shapes: tuple[t.Any, ...]


NAMES = {str: "text", int: "a whole number", float: "a number", bool: "true or false", list: "a list", dict: "a mapping"}


def shape_error(value: t.Any, shape: t.Any, field: str = "") -> str | None:
    """The first field of a value that is not of its shape, in words; None where all are.

    shape: a type, a mapping of the fields that must be there to their shapes, or one of the classes above.
    """
    # A merge looks at some hundred thousand fields, of which all have their shapes: none of them is named.
    return None if _fits(_Shape(shape))(value) else _error(value, shape, field)


class _Shape:
    """A shape by what it is and not what it is like: mappings have no hash."""

    def __init__(self, shape: t.Any) -> None:
        self.shape = shape

    def __hash__(self) -> int:
        return id(self.shape)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Shape) and other.shape is self.shape


Fits = t.Callable[[t.Any], bool]


@functools.lru_cache(maxsize=64)
def _fits(one: _Shape) -> Fits:
    """Whether values have a shape."""
    return _fits_of(one.shape)


def _fits_of(shape: t.Any) -> Fits:
    if isinstance(shape, (Maybe, MayLack)):
        own = _fits_of(shape.shape)
        return own if isinstance(shape, MayLack) else lambda value: value is None or own(value)
    if isinstance(shape, OneOf):
        return lambda value: value in shape.words
    if isinstance(shape, Each):
        return _fits_each(shape, _fits_of(shape.shape))
    if isinstance(shape, Cells):
        cells = [_fits_of(one) for one in shape.shapes]
        return lambda value: isinstance(value, list) and len(value) == len(cells) and all(own(one) for own, one in zip(cells, value))
    if isinstance(shape, dict):
        return _fits_mapping(shape)
    if shape is float:
        return lambda value: isinstance(value, (int, float)) and not isinstance(value, bool)
    return lambda value: isinstance(value, shape) and not (shape is int and isinstance(value, bool))


def _fits_each(shape: Each, own: Fits) -> Fits:
    def fits(value: t.Any) -> bool:
        if not isinstance(value, shape.of):
            return False
        if isinstance(value, list):
            return all(map(own, value))
        return not (shape.keys and any(not re.fullmatch(shape.keys, key) for key in value)) and all(map(own, value.values()))

    return fits


def _fits_mapping(shape: dict[str, t.Any]) -> Fits:
    needed = [(name, _fits_of(one)) for name, one in shape.items() if not isinstance(one, MayLack)]
    others = [(name, _fits_of(one)) for name, one in shape.items() if isinstance(one, MayLack)]

    def fits(value: t.Any) -> bool:
        if not isinstance(value, dict):
            return False
        for name, own in needed:
            if name not in value or not own(value[name]):
                return False
        return all(name not in value or own(value[name]) for name, own in others)

    return fits


def _error(value: t.Any, shape: t.Any, field: str) -> str | None:
    """The words of ``shape_error``."""
    if isinstance(shape, Maybe):
        return None if value is None else _error(value, shape.shape, field)
    if isinstance(shape, OneOf):
        return None if value in shape.words else _must(field, f"be one of {', '.join(shape.words)}", value)
    if isinstance(shape, Each):
        return _each(value, shape, field)
    if isinstance(shape, Cells):
        if not isinstance(value, list) or len(value) != len(shape.shapes):
            return _must(field, f"be a list of {len(shape.shapes)} elements", value)
        return _first(_error(one, own, f"{field}[{number}]") for number, (one, own) in enumerate(zip(value, shape.shapes)))
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return _must(field, "be a mapping", value)
        under = f"{field}." if field else ""
        return _first(_of_field(value, name, own, under + name) for name, own in shape.items())
    fits = isinstance(value, (int, float) if shape is float else shape) and not (isinstance(value, bool) and shape in (int, float))
    return None if fits else _must(field, f"be {NAMES[shape]}", value)


def _of_field(value: dict[str, t.Any], name: str, shape: t.Any, field: str) -> str | None:
    if isinstance(shape, MayLack):
        return _error(value[name], shape.shape, field) if name in value else None
    return _error(value[name], shape, field) if name in value else f"field {field} is missing"


def _each(value: t.Any, shape: Each, field: str) -> str | None:
    if not isinstance(value, shape.of):
        return _must(field, f"be {NAMES[shape.of]}", value)
    if isinstance(value, list):
        return _first(_error(one, shape.shape, f"{field}[{number}]") for number, one in enumerate(value))
    if shape.keys and (unfit := [key for key in value if not re.fullmatch(shape.keys, key)]):
        return f"field {field} must have names that match {shape.keys}, not {unfit[0]!r}"[:300]
    return _first(_error(one, shape.shape, f"{field}.{key}") for key, one in value.items())


def _first(found: t.Iterable[str | None]) -> str | None:
    return next((one for one in found if one is not None), None)


def _must(field: str, words: str, value: t.Any) -> str:
    return f"field {field or '(all of it)'} must {words}, not {shortened(repr(value), 60)}"
