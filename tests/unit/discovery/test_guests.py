# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts that are virtual machines are proposed as guests; a host that is not as most are is named, and of two halves neither is proposed."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.discovery.guests import guests_of

HOSTS = [f"gpu{number:02}" for number in range(1, 5)]


@pytest.mark.parametrize(
    ("hypervisors", "proposed", "odd", "blanks"),
    [
        (["kvm"] * 4, ["4 of 4 hosts are virtual machines (kvm)"], {}, []),
        (["none"] * 4, [], {}, []),
        # One that does not report it is asked by the validation.
        (["kvm", "kvm", "kvm", None], ["3 of 3 hosts are virtual machines (kvm)"], {}, []),
        (["kvm", "kvm", "kvm", "none"], ["3 of 4 hosts are virtual machines (kvm)"], {"gpu04": "is bare metal, and 3 of 4 hosts are virtual machines"}, []),
        (["none", "none", "xen", "none"], [], {"gpu03": "is a virtual machine, and 3 of 4 hosts are bare metal"}, []),
        (["kvm", "none", "kvm", "none"], [], {}, ["pod_virtualization: guest by gpu01, gpu03, and gpu02, gpu04 are bare metal; set it by host"]),
        ([None] * 4, [], {}, []),
    ],
)
def test_hosts_are_proposed_as_most_of_them_are(hypervisors: list[str | None], proposed: list[str], odd: dict[str, str], blanks: list[str]) -> None:
    readings = {host: {} if word is None else {"virtualization": [{"hypervisor": word}]} for host, word in zip(HOSTS, hypervisors)}
    proposals, outliers, blank = guests_of(HOSTS, readings)
    assert [(one.name, one.value, one.read) for one in proposals] == [("pod_virtualization", "guest", read) for read in proposed]
    assert {one.place: one.words for one in outliers} == odd and blank == blanks
