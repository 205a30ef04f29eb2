# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What declaring a check refuses, and what it reads from a signature."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils import checks
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.place import at_port
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.registry import REGISTRY

WORDS = {"cause": "A cable.", "fix": "Replace it."}


@pytest.fixture
def declare(monkeypatch):
    """Declare a function as a check of a layer of its own, and give the declaration."""
    registry = {}
    monkeypatch.setattr(checks, "REGISTRY", registry)

    def of(judge, **options):
        checks.check(**{**WORDS, **options})(judge)
        return next(iter(registry.values()))[judge.__name__]

    return of


def clean(interface_errors, interface_errors_before, pod_cables, lldp_neighbors=None):
    """No port gains errors.

    More words.
    """


def test_a_signature_is_the_declaration(declare):
    check = declare(clean, remedy="mend")
    assert (check.id, check.statement, check.remedy, check.needs) == ("clean", "No port gains errors.", "mend", "soak")
    assert check.in_phase("now") == ("interface_errors", "lldp_neighbors") and check.in_phase("before") == ("interface_errors",)
    assert check.expectations == ("pod_cables",)
    assert check.optional == {"lldp_neighbors"}
    assert check.reads == {"interface_errors", "lldp_neighbors"}
    assert check.kinds == {"host", "switch"}


def test_kinds_follow_from_what_can_say_it(declare):
    def host(ibstat, ip_link_of_peers):
        """Words."""

    def switch(bgp_summary):
        """Words."""

    assert declare(host).kinds == {"host"}
    assert declare(switch).kinds == {"switch"}
    assert declare(host).of_peers == (("now", "ip_link", "ip_link_of_peers"),)


def test_a_requirement_by_an_expectation(declare):
    check = declare(clean, required="pod_gpudirect")
    assert check.is_required({"pod_gpudirect": "either"})
    assert not check.is_required({"pod_gpudirect": "none"})
    assert not check.is_required({})
    assert declare(clean, required=True).is_required({})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cause": ""}, "needs a docstring, a cause and a fix"),
        ({"fix": ""}, "needs a docstring, a cause and a fix"),
        ({"scope": "pod"}, "has scope 'pod'"),
        ({"severity": "bad"}, "severity 'bad'"),
        ({"fabric": "ethernet"}, "has fabric 'ethernet'"),
        ({"needs": "time"}, "needs 'time'"),
        ({"required": "pod_unheard_of"}, "is required by 'pod_unheard_of'"),
    ],
)
def test_wrong_options_are_refused(declare, options, words):
    with pytest.raises(TypeError, match=words):
        declare(clean, **options)


def test_wrong_signatures_are_refused(declare):
    def stranger(interface_errors, pod_unheard_of):
        """Words."""

    def misspelled(interface_error):
        """Words."""

    def silent(interface_errors):
        pass

    def nobody(ibstat, bgp_summary):
        """No kind of node says both."""

    def nothing(pod_cables):
        """Reads nothing, and no kind is given."""

    for judge, words in (
        (stranger, "neither a reading nor a specified"),
        (misspelled, "'interface_error'"),
        (silent, "docstring"),
        (nobody, "one kind of node"),
        (nothing, "lacks its kind"),
    ):
        with pytest.raises(TypeError, match=words):
            declare(judge)
    assert declare(nothing, kind="switch").kinds == {"switch"}


def test_a_finding_says_where_expected_and_got():
    assert str(checks.Finding(at_port("Ethernet12"), "connected at 400 Gb/s", "connected at 100 Gb/s")) == (
        "Ethernet12: expected connected at 400 Gb/s, got connected at 100 Gb/s"
    )


def test_the_go_no_go_table_is_required():
    required = {
        check.id
        for layer in ("preflight", "links", "routing")
        for check in REGISTRY[layer].values()
        if check.required not in (False, "pod_hugepages_1g", "pod_gpudirect")
    }
    assert required >= {
        "rails_present", "iommu_as_expected", "acs_as_expected", "nic_settings", "gpus_present",
        "port_speed", "crc_clean", "bgp_established", "ecmp_paths", "rails_reachable",
    }  # fmt: skip
    assert REGISTRY["preflight"]["hugepages_reserved"].required == "pod_hugepages_1g"
    assert REGISTRY["preflight"]["gpudirect_available"].required == "pod_gpudirect"


def test_checks_of_the_catalogue_exist():
    named = {layer: set(found) for layer, found in REGISTRY.items()}
    assert named["preflight"] >= {
        "rails_present", "adapters_capable", "iommu_as_expected", "hugepages_reserved", "sriov_enabled", "acs_as_expected", "gpudirect_available",
        "nic_settings", "nic_reset_pending", "dcqcn_running", "roce_qos", "traffic_class", "mtu", "mtu_uniform", "gid_index", "gid_index_uniform",
        "address_plan", "nic_gpu_affinity", "gpus_present", "gpu_errors", "fabric_state", "gpu_throttled", "pcie_link", "job_limits",
        "numa_balancing_off", "nccl_environment", "software_pinned", "software_uniform",
    }  # fmt: skip
    assert named["links"] >= {
        "ports_present", "cabling_as_planned", "port_speed", "crc_clean", "errors_clean", "optic_rx_power", "cable_reach", "link_flaps", "bit_error_rate",
    }  # fmt: skip
    assert named["routing"] >= {"bgp_established", "ecmp_paths", "rails_reachable", "path_mtu", "path_carries_full_size", "oversubscription"}


def test_a_statement_names_the_value_in_force_or_the_default(declare):
    def quick(pings, pod_ping_rtt_max_ms):
        """At most {pod_ping_rtt_max_ms} ms."""

    check = declare(quick)
    assert check.stated({"pod_ping_rtt_max_ms": 0.25}) == "At most 0.25 ms."
    assert check.stated({}) == "At most 5 ms."


@pytest.mark.parametrize("name", ["pod_ping_rtt_max_ms", "pod_cables", "pod_typo"])
def test_a_statement_names_only_numbers_that_its_check_expects(declare, name):
    def wired(interface_errors, pod_cables):
        """It holds."""

    wired.__doc__ = f"At most {{{name}}}."
    with pytest.raises(TypeError, match=f"states {name}"):
        declare(wired)
