# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Many cases in one test: where thousands of cases take a millisecond each, a test for each is mostly the work of pytest."""

from __future__ import annotations

import traceback
import types
import typing as t

import pytest

Case = t.TypeVar("Case")


def check_each(cases: t.Iterable[Case], check: t.Callable[[Case], object], name: t.Callable[[Case], str] = str) -> None:
    """Check every case; fails once, with the name, the error and its place for each case that fails, and where there is no case.

    name: what a case is called in that failure.
    """
    count, failed = 0, []
    for case in cases:
        count += 1
        try:
            check(case)
        # pytest.fail and pytest.raises fail with an exception that is no Exception.
        except (Exception, pytest.fail.Exception) as error:
            failed.append(f"{name(case)}: {_result(error)}")
    if failed:
        pytest.fail(f"{len(failed)} of {count} cases failed\n" + "\n".join(failed), pytrace=False)
    assert count, "there is no case to check"


def name_of_fault(one: object) -> str:
    """What pytest calls a case that begins with the function that makes its fault: by that function alone, as ``ids``."""
    return one.__name__ if isinstance(one, types.FunctionType) else ""


def _result(error: BaseException) -> str:
    place = traceback.extract_tb(error.__traceback__)[-1]
    words = "\n".join([str(error) or repr(error), *getattr(error, "__notes__", [])])
    return f"{type(error).__name__} at {place.filename}:{place.lineno}: {words}"
