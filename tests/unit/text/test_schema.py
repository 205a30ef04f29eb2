# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A document is of its shape exactly where no field of it is named."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.text import schema
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.text.schema import Cells, Each, Maybe, MayLack, OneOf, shape_error
from hypothesis import given
from hypothesis import strategies as st

WORDS = st.sampled_from(["a", "b", "open"])
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-1, 1), st.just(1.5), WORDS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(WORDS, inner, max_size=3)),
    max_leaves=8,
)
SHAPES = st.recursive(
    st.one_of(st.sampled_from([str, int, float, bool, list, dict]), st.builds(OneOf, st.tuples(WORDS, WORDS))),
    lambda inner: st.one_of(
        st.builds(Maybe, inner),
        st.builds(Each, inner, st.sampled_from([list, dict]), st.sampled_from(["", "[ab]"])),
        st.builds(Cells, st.lists(inner, max_size=2).map(tuple)),
        st.dictionaries(WORDS, st.one_of(inner, st.builds(MayLack, inner)), max_size=3),
    ),
    max_leaves=6,
)


def of_shape(shape: t.Any) -> st.SearchStrategy[t.Any]:
    """Values that are of a shape, most of them."""
    if isinstance(shape, (Maybe, MayLack)):
        return st.one_of(st.none(), of_shape(shape.shape)) if isinstance(shape, Maybe) else of_shape(shape.shape)
    if isinstance(shape, OneOf):
        return st.sampled_from(shape.words)
    if isinstance(shape, Each):
        return st.lists(of_shape(shape.shape), max_size=3) if shape.of is list else st.dictionaries(WORDS, of_shape(shape.shape), max_size=3)
    if isinstance(shape, Cells):
        return st.tuples(*map(of_shape, shape.shapes)).map(list)
    if isinstance(shape, dict):
        return st.fixed_dictionaries({name: of_shape(one) for name, one in shape.items()})
    return {str: WORDS, int: st.integers(-1, 1), float: st.just(1.5), bool: st.booleans(), list: st.just([]), dict: st.just({})}[shape]


@given(st.data(), SHAPES)
def test_a_value_is_of_its_shape_where_no_field_is_named(data: st.DataObject, shape: t.Any) -> None:
    """What says so in short, and what names the field, are two: if they differed, a malformed file would be taken for a sound one."""
    value = data.draw(st.one_of(VALUES, of_shape(shape)))
    assert schema._fits_of(shape)(value) == (schema._error(value, shape, "") is None)


@pytest.mark.parametrize(
    "value, words",
    [
        ({"gates": {"a": [1, None]}}, None),
        ({"gates": {"a": [1, None]}, "note": "x"}, None),
        ({"gates": {"a": [1, True]}}, "field gates.a[1] must be text, not True"),
        ({"gates": {"a": [True, None]}}, "field gates.a[0] must be a whole number, not True"),
        ({"gates": {"a": [1]}}, "field gates.a must be a list of 2 elements, not [1]"),
        ({"gates": {"A": [1, "x"]}}, "field gates must have names that match [a-z]+, not 'A'"),
        ({"note": 1}, "field gates is missing"),
        ({"gates": {}, "note": 1}, "field note must be text, not 1"),
        ([], "field (all of it) must be a mapping, not []"),
    ],
)
def test_the_first_field_of_another_shape_is_named(value: t.Any, words: str | None) -> None:
    assert shape_error(value, {"gates": Each(Cells((int, Maybe(str))), dict, "[a-z]+"), "note": MayLack(str)}) == words
