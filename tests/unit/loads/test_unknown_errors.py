# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors that no table knows: the line that decides, what the system's error in it means, and which hosts have it."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads import rank_errors, unknown_errors


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("first of all\nwhat follows\n", "first of all"),
        ("[INFO] begins\nqux: frobnication failed\n", "qux: frobnication failed"),
        ("outer: it failed\nouter: its log:\nouter:     [INFO] begins\nouter:     inner: broken\nouter:     gives up\n", "outer:     inner: broken"),
        ("Disabling frobnication\n Failed to query qux\n Failed to go on\n", "Disabling frobnication; Failed to query qux"),
        # What a line announces, and a sentence that is wrapped.
        ("frob event error:\n\nEvent: QUX; -1\nERRNO: No such file or directory.\n", "frob event error: Event: QUX; -1"),
        (
            "-----\nit was unable to launch the specified application as it could not access\nor execute an executable:\n\nExecutable: /x\nNode: a\n",
            "it was unable to launch the specified application as it could not access or execute an executable: Executable: /x",
        ),
        (
            "it was unable to launch the specified application as it could not access\nNode: a\n",
            "it was unable to launch the specified application as it could not access",
        ),
        ("\n \n", ""),
    ],
)
def test_the_line_that_decides(output: str, line: str) -> None:
    assert unknown_errors.decisive_line(output) == " ".join(line.split())


def test_a_line_is_cut_and_escaped_at_one_place() -> None:
    assert unknown_errors.cut("a\x1b[2J\nb") == "a\ufffd[2J b"
    assert len(unknown_errors.cut("x" * 5000)) == unknown_errors.LONGEST


@pytest.mark.parametrize("one", unknown_errors.SYSTEM_ERRORS, ids=lambda one: one.text)
def test_an_error_of_the_system_has_its_own_cause(one: unknown_errors.ErrorNumber) -> None:
    line = f"qux: frob of /zap/9: {one.text}"
    cause, fix = unknown_errors.explain_unknown(line)
    assert cause == f"It names the file /zap/9. {one.cause}" and fix == f"Begin with this line: {line}. {one.fix}"


@pytest.mark.parametrize("line", ["BlockingIOError: [Errno 11] Resource temporarily unavailable", "frob: recv() failed: errno 11"])
def test_a_resource_that_is_not_available_is_no_limit_of_threads_where_no_line_names_the_call(line: str) -> None:
    cause, fix = rank_errors.explained(line)
    assert "EAGAIN" in cause and "does not say which" in cause and fix.startswith(f"Begin with this line: {line}")
    assert not rank_errors.is_own(line)


def test_a_number_of_an_error_alone_is_none_of_its_own() -> None:
    assert unknown_errors.is_bare("ERRNO: No such file or directory.") and unknown_errors.is_bare("error: Bad address")
    assert not unknown_errors.is_bare("frob: Bad address") and not unknown_errors.is_bare("frob failed")


def test_which_hosts_have_it_decides_whom_it_is_of() -> None:
    hosts = ["gpu01", "gpu02", "gpu03"]
    extent = unknown_errors.extent_of
    assert extent("gpu01", hosts, hosts, False) == unknown_errors.ALL and unknown_errors.ALL.all_hosts
    alone = extent("gpu01", ["gpu01"], hosts, True)
    assert alone.one_host and alone.words.startswith("gpu01 alone")
    # Without a run that ends well without it nothing shows that the others lack it.
    none = unknown_errors.NOT_SHOWN
    assert extent("gpu01", ["gpu01"], hosts, False) == extent("gpu01", ["gpu01"], ["gpu01"], True) == none
    some = extent("gpu01", ["gpu01", "gpu02"], hosts, True)
    assert some.words.startswith("2 of 3 hosts") and not some.one_host and not some.all_hosts
    assert extent("gpu03", ["gpu01"], hosts, True) == none
    assert unknown_errors.alike("rank 7 of gpu03: boom") == unknown_errors.alike("rank 12 of gpu11: boom")
    assert unknown_errors.alike("0000:ba:00.0: gone at 0xdead") == unknown_errors.alike("0000:1c:00.0: gone at 0x1")
    assert unknown_errors.alike("mlx5: bad: face") != unknown_errors.alike("mlx5: fade: face")
