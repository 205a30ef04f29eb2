# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A test of many cases names each one that fails, and is no pass without a case."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.tests.cases import check_each


def is_odd(number: int) -> None:
    assert number % 2, f"{number} is even"


def test_every_case_that_fails_is_named_in_one_failure() -> None:
    with pytest.raises(pytest.fail.Exception) as caught:
        check_each(range(1, 6), is_odd, lambda number: f"case {number}")
    words = str(caught.value)
    assert words.startswith("2 of 5 cases failed\ncase 2: AssertionError at ") and "2 is even" in words and "\ncase 4: " in words
    assert "case 3" not in words and f"{__file__}:" in words


def test_an_expected_error_that_does_not_come_is_a_failure() -> None:
    def raises(_case: int) -> None:
        with pytest.raises(ValueError):
            pass

    with pytest.raises(pytest.fail.Exception, match="1 of 1 cases failed"):
        check_each([1], raises)


def test_no_case_is_no_pass() -> None:
    with pytest.raises(AssertionError, match="no case"):
        check_each([], is_odd)


def test_cases_that_pass_pass() -> None:
    check_each([1, 3], is_odd)
