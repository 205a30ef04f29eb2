# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How rail NICs may use PCIe, by plain calls."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import CannotTell, NotApplicable
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.preflight.nic_pcie import SETTINGS, nic_pcie_alike

HOSTS, DEVICES = ("gpu01", "gpu02", "gpu03", "gpu04"), ("mlx5_0", "mlx5_1")
PCI = {"mlx5_0": "0000:18:00.0", "mlx5_1": "0000:40:00.0"}
RAILS = [{"device": device, "netdev": f"{device}np0", "gpu": 0, "leaf": "leaf01"} for device in DEVICES]
USUAL = {
    "model": "15b3:1021", "max_payload_bytes": 256, "max_read_request_bytes": 4096, "relaxed_ordering": True, "ten_bit_tags": True, "aspm": "none",
}  # fmt: skip


def rows(odd=None, hosts=HOSTS, **every):
    """The rows of hosts; odd: other values by host and device; every: other values of all."""
    return {host: [{"device": device, "pci": PCI[device], **USUAL, **every, **(odd or {}).get((host, device), {})} for device in DEVICES] for host in hosts}


def judged(given, gbit_s=400, least=None):
    return [(one.host, str(one), one.severity) for one in nic_pcie_alike(given, RAILS, gbit_s, least)]


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("max_read_request_bytes", 512, "MaxReadReq: expected 4096 bytes, as 7 of the group's 8 NICs of its model, got 512 bytes"),
        ("max_payload_bytes", 128, "MaxPayload: expected 256 bytes, as 7 of the group's 8 NICs of its model, got 128 bytes"),
        ("relaxed_ordering", False, "RlxdOrd: expected on, as 7 of the group's 8 NICs of its model, got off"),
        ("ten_bit_tags", False, "10BitTagReq: expected on, as 7 of the group's 8 NICs of its model, got off"),
        ("aspm", "L0s L1", "ASPM: expected off, as 7 of the group's 8 NICs of its model, got L0s L1"),
    ],
)
def test_a_nic_that_is_worse_than_the_others_fails_and_one_that_is_better_is_a_warning(column, value, words):
    assert judged(rows()) == []
    (found,) = nic_pcie_alike(rows({("gpu03", "mlx5_1"): {column: value}}), RAILS, 400, None)
    assert (found.host, found.severity, found.cause, found.fix) == ("gpu03", None, SETTINGS[column].cause, SETTINGS[column].fix)
    # With the address that the setpci of its fix asks for.
    assert str(found) == f"mlx5_1 at 0000:40:00.0, {words}" and found.where.pci == "0000:40:00.0"
    better = judged(rows({("gpu03", "mlx5_1"): {column: USUAL[column]}}, **{column: value}), gbit_s=100)
    assert [(host, severity) for host, _words, severity in better] == [("gpu03", "warn")]


@pytest.mark.parametrize("column", [column for column, setting in SETTINGS.items() if setting.always_printed])
def test_what_lspci_did_not_print_is_unknown(column):
    name = SETTINGS[column].name
    assert judged(rows({("gpu03", "mlx5_1"): {column: None}})) == [("gpu03", f"mlx5_1: expected {name} of its PCIe control, got not reported", "unknown")]
    assert {one[2] for one in judged(rows(**{column: None}))} == {"unknown"}


def test_a_nic_that_is_not_read_is_unknown():
    given = rows()
    del given["gpu02"][0]
    ((host, words, severity),) = judged(given)
    assert (host, severity) == ("gpu02", "unknown")
    assert words.startswith("mlx5_0: expected MaxReadReq, MaxPayload, RlxdOrd, ASPM, the model of its PCIe control, got")
    ((host, words, severity),) = judged(rows({("gpu03", "mlx5_1"): {"model": None, "max_payload_bytes": 128}}))
    assert (host, words, severity) == ("gpu03", "mlx5_1: expected the model of its PCIe control, got not reported", "unknown")
    with pytest.raises(CannotTell):
        list(nic_pcie_alike(rows(), [], 400, None))


def test_tags_that_an_older_lspci_does_not_print_are_not_compared():
    assert judged(rows(ten_bit_tags=None)) == []
    assert judged(rows({("gpu01", device): {"ten_bit_tags": None} for device in DEVICES})) == []


def test_nics_of_another_model_and_other_rails_may_differ():
    assert judged(rows({(host, "mlx5_1"): {"max_payload_bytes": 512} for host in HOSTS})) == [], "each rail has one value on all hosts"
    assert judged(rows({("gpu03", "mlx5_1"): {"model": "14e4:1760", "max_payload_bytes": 512}})) == []
    # Where rails differ on purpose an odd one is still compared with those of its rail.
    odd = {**{(host, "mlx5_1"): {"max_payload_bytes": 512} for host in HOSTS}, ("gpu03", "mlx5_1"): {"max_payload_bytes": 256}}
    assert [(host, severity) for host, _words, severity in judged(rows(odd))] == [("gpu03", None)]


def test_where_no_value_is_usual_nobody_is_named():
    ((host, words, severity),) = judged(rows({("gpu02", device): {"max_read_request_bytes": 512} for device in DEVICES}, hosts=HOSTS[:2]))
    assert (host, severity) == (None, None)
    assert words.startswith("MaxReadReq: expected one value over the group, got 4096 bytes on gpu01; 512 bytes on gpu02: none of them is the usual one")


def test_small_read_requests_of_all_are_a_warning_where_links_are_fast():
    words = "MaxReadReq: expected more than 512 bytes at 200 Gb/s, got 512 bytes on 8 of 8 NICs (mlx5_0, mlx5_1 of gpu01, gpu02, gpu03 and 1 more)"
    assert judged(rows(max_read_request_bytes=512), gbit_s=200) == [(None, words, "warn")]
    assert judged(rows(max_read_request_bytes=512), gbit_s=100) == []
    assert judged(rows(max_read_request_bytes=1024)) == []
    # One rail of all hosts, and the only host of a group, which is compared with none.
    ((_host, words, severity),) = judged(rows({(host, "mlx5_1"): {"max_read_request_bytes": 256} for host in HOSTS}))
    assert severity == "warn" and "256 bytes on 4 of 8 NICs (mlx5_1 of" in words
    (found,) = _until_not_applicable(rows(hosts=HOSTS[:1], max_read_request_bytes=512))
    assert found.severity == "warn" and "CAP_EXP+8.w" in found.fix and "pod_nic_max_read_request_bytes" in found.fix


def _until_not_applicable(given):
    with pytest.raises(NotApplicable, match="one host"):
        yield from nic_pcie_alike(given, RAILS, 400, None)


def test_what_the_plan_says_of_read_requests_decides():
    assert judged(rows(max_read_request_bytes=512), least=512) == []
    found = judged(rows({("gpu03", "mlx5_1"): {"max_read_request_bytes": 2048}}), least=4096)
    assert found == [("gpu03", "mlx5_1 at 0000:40:00.0, MaxReadReq: expected 4096 bytes or more, got 2048 bytes", None)]
    assert len(judged(rows(max_read_request_bytes=512), least=4096)) == len(HOSTS) * len(DEVICES)
