# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hosts' ranks ran with other settings than most, and what an error's cause has of that."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.collectives._nccl_transport import unlisted
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.collectives._settings import odd_hosts, with_settings
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.loads.collective_runs import LADDER, PROBE

WORDS = ("It failed.", "Look there.")


def variable(name: str, value: str, item: str = "rung") -> dict[str, t.Any]:
    return {"item": item, "event": "variable", "name": name, "value": value}


def version(value: str) -> dict[str, t.Any]:
    return {"item": "rung", "event": "version", "name": None, "value": value}


def odd(logs: dict[str, list[dict[str, t.Any]]]) -> dict[str, list[str]]:
    jobs = {host: [{"item": "rung", "kind": LADDER}, {"item": "probe", "kind": PROBE}] for host in logs}
    return dict(odd_hosts(logs, jobs))


def test_the_host_whose_settings_differ_from_those_of_most_is_odd() -> None:
    same = [variable("NCCL_NET", "IB"), version("2.28.9")]
    assert odd({"a": same, "b": [*same, variable("FI_PROVIDER", "tcp")], "c": same}) == {"b": ["FI_PROVIDER tcp, of the others none"]}
    assert odd({"a": same, "b": [version("2.28.9")], "c": same}) == {"b": ["NCCL_NET none, of the others IB"]}
    # Where NCCL did not begin its release is not known; two hosts differ from each other; and a probe sets what it tries.
    assert odd({"a": same, "b": [variable("NCCL_NET", "IB")], "c": same}) == {}
    assert odd({"a": same, "b": []}) == {} and odd({"a": same, "b": [*same, variable("NCCL_ALGO", "Ring", "probe")], "c": same}) == {}


def test_an_error_has_the_settings_that_differ_before_what_is_not_known_and_behind_what_is() -> None:
    differs = {"b": ["NCCL_NET Socket, of the others none"]}
    said = "b is set up otherwise than the other hosts: NCCL_NET Socket, of the others none."
    assert with_settings("b", None, differs, (), True, WORDS)[0] == f"It failed. {said}"
    assert with_settings("b", None, differs, (), False, WORDS)[0] == f"{said} It failed."
    # An error that the runs show to have begun at that host is told of it; that one differs is no reason by itself.
    assert with_settings("a", "b", differs, (), False, WORDS)[0] == f"{said} It failed." and with_settings("a", "b", differs, (), True, WORDS) == WORDS
    assert with_settings("a", None, differs, (), False, WORDS) == WORDS
    assert with_settings("a", None, {}, ("NCCL_NET=Socket",), False, WORDS)[0].startswith("All hosts set NCCL_NET=Socket")
    assert with_settings("a", None, {}, ("NCCL_NET=Socket",), True, WORDS) == WORDS


def test_variables_of_other_libraries_are_none_that_a_pod_lists() -> None:
    assert unlisted([variable("UCX_TLS", "rc"), variable("NCCL_NET", "IB")], [], {}) == [("NCCL_NET", "IB")]
