# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the driver of NICs cannot report: who is excused, and what the gate and the verdict come to."""

from __future__ import annotations

import typing as t
from dataclasses import replace

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.gates import decide_gates
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.nic_platforms import NicPlatforms
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.conditions import conditions_of

from ..conftest import GROUPS, small_plan
from .test_gates import PORT_SPEED, verdict
from .test_layer import envelope


def nics(*drivers: str, version: str | None = "6.8.0-45-generic") -> dict[str, t.Any]:
    """A host whose rails have these drivers."""
    return envelope(nic_driver=[{"netdev": f"ens{number}", "driver": one, "version": version} for number, one in enumerate(drivers)])


def read(host: dict[str, t.Any]) -> dict[str, t.Any]:
    """The reading of drivers of a host."""
    return t.cast("dict[str, t.Any]", host["readings"]["nic_driver"])


@pytest.mark.parametrize(
    ("gpu01", "gpu02", "excused"),
    [
        (nics("bnxt_en", "bnxt_en"), nics("bnxt_en", "bnxt_en"), True),
        (nics("mlx5_core", "mlx5_core"), nics("mlx5_core", "mlx5_core"), False),
        # The odd host of a group, or the odd rail of a host, is a fault, and a tie decides nothing.
        (nics("bnxt_en", "bnxt_en"), nics("mlx5_core", "mlx5_core"), False),
        (nics("bnxt_en", "mlx5_core"), nics("bnxt_en", "bnxt_en"), False),
        # What is not reported excuses nothing.
        (nics("bnxt_en"), nics("bnxt_en", "bnxt_en"), False),
        # A rail that is not there is a finding of its own, and the others are excused by theirs.
        (envelope(nic_driver={**read(nics("bnxt_en")), "lost": {"ens1": "ethtool exited with status 71"}}), nics("bnxt_en", "bnxt_en"), True),
        (envelope(nic_driver={"status": "unknown", "words": "ethtool: not found", "rows": []}), nics("bnxt_en", "bnxt_en"), False),
        (envelope(), nics("bnxt_en", "bnxt_en"), False),
        (nics("of_tomorrow", "of_tomorrow"), nics("of_tomorrow", "of_tomorrow"), False),
    ],
)
def test_only_the_driver_of_the_group_excuses(gpu01: dict[str, t.Any], gpu02: dict[str, t.Any], excused: bool) -> None:
    plan = small_plan()
    nic_platforms = NicPlatforms(plan, {"gpu01": gpu01, "gpu02": gpu02})
    words = nic_platforms.not_available("gpu01", ["firmware_settings"])
    assert bool(words) == excused and (not words or words.startswith("not available on this platform: "))
    assert not nic_platforms.not_available("gpu01", ["rx_pauses"])


def functions(host: dict[str, t.Any], device: str, hypervisor: str) -> dict[str, t.Any]:
    """The same host with NICs of this id on the PCI bus, as a virtual machine or not."""
    rows = [{"netdev": f"ens{number}", "vendor": "0x15b3", "device": device} for number in range(2)]
    more = envelope(nic_functions=rows, virtualization=[{"hypervisor": hypervisor}])["readings"]
    return {**host, "readings": {**host["readings"], **more}}


@pytest.mark.parametrize(
    ("device", "hypervisor", "everywhere", "excused"),
    [
        ("0x101e", "kvm", True, True),
        ("0x101e", "none", True, True),
        # The id proves what a guest has; on bare metal the group must have it too.
        ("0x101e", "kvm", False, True),
        ("0x101e", "none", False, False),
        ("0x1021", "kvm", True, False),
    ],
)
def test_a_virtual_function_is_known_by_its_id(device: str, hypervisor: str, everywhere: bool, excused: bool) -> None:
    whole = nics("mlx5_core", "mlx5_core", version="24.10-0.7.0")
    own = functions(whole, device, hypervisor)
    platforms = NicPlatforms(small_plan(), {"gpu01": own, "gpu02": own if everywhere else whole})
    for meaning in ("firmware_settings", "optics", "rx_pauses"):
        assert bool(platforms.not_available("gpu01", [meaning])) == excused
    assert not platforms.not_available("gpu01", ["sequence_errors"])


def test_the_drivers_of_a_group_are_counted_once() -> None:
    class Counting(dict[str, t.Any]):
        """Envelopes that count how often they are looked up."""

        looked_up = 0

        def get(self, key: str, default: t.Any = None) -> t.Any:
            self.looked_up += 1
            return super().get(key, default)

    now = Counting(gpu01=nics("bnxt_en", "bnxt_en"), gpu02=nics("bnxt_en", "bnxt_en"))
    nic_platforms = NicPlatforms(small_plan(), now)
    assert all(nic_platforms.not_available(host, ["firmware_settings"]) for host in ("gpu01", "gpu02"))
    first, now.looked_up = now.looked_up, 0
    for _check in range(5):
        assert all(nic_platforms.not_available(host, ["dcqcn_switches"]) for host in ("gpu01", "gpu02"))
    assert first == 8 and now.looked_up == 20


def test_a_gate_opens_beside_another_proof_alone() -> None:
    lacking = verdict("gpu01", "skip", check="port_speed", words="not available on this platform: x", unavailable=True, required=True)
    alone = decide_gates(small_plan(), [lacking], GROUPS, [PORT_SPEED], {})["rack_01"]
    assert (alone.state, alone.too_few) == ("not_proved", [("port_speed", "not available on this platform: x")])
    other = replace(PORT_SPEED, id="other", required=True)
    beside = [lacking, verdict("gpu01", check="other")]
    assert decide_gates(small_plan(), beside, GROUPS, [PORT_SPEED, other], {})["rack_01"].state == "open"
    plain = [replace(lacking, unavailable=False), verdict("gpu01", check="other")]
    assert decide_gates(small_plan(), plain, GROUPS, [PORT_SPEED, other], {})["rack_01"].state == "closed"


def test_the_verdict_names_what_was_not_available() -> None:
    records = [verdict(host, "skip", check="nic_settings", unavailable=True, required=True).record() for host in ("gpu01", "gpu02")]
    records.append(verdict("gpu01", "skip", check="dcqcn_running", unavailable=True).record())
    found = conditions_of([{"verdicts": records, "quarantined": {}}])  # type: ignore[typeddict-item]
    assert found == ["nic_settings not available on the platform of 2 hosts"]
