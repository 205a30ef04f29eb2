# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a host is a virtual machine, and planned as one, by plain calls."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import CannotTell
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.preflight.virtualization import NOT_BARE, virtualization_as_planned


def judged(hypervisor: str, planned: str) -> list[tuple[str, str | None]]:
    return [(str(one), one.cause) for one in virtualization_as_planned([{"hypervisor": hypervisor}], planned)]


@pytest.mark.parametrize(("hypervisor", "planned"), [("none", "none"), ("none", "container"), ("none", "sriov"), ("kvm", "guest"), ("vm-other", "guest")])
def test_a_host_that_is_what_was_planned_passes(hypervisor: str, planned: str) -> None:
    assert judged(hypervisor, planned) == []


def test_a_host_that_is_not_what_was_planned_fails_with_its_own_cause() -> None:
    assert judged("none", "guest") == [("host: expected a virtual machine (pod_virtualization guest), got bare metal", None)]
    words = "host: expected bare metal (pod_virtualization sriov), got a virtual machine (microsoft)"
    assert judged("microsoft", "sriov") == [(words, NOT_BARE)]


def test_a_host_that_says_nothing_is_unknown() -> None:
    with pytest.raises(CannotTell, match="not reported"):
        list(virtualization_as_planned([], "guest"))
