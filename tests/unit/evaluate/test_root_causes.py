# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which findings follow from a node that does not answer, and which share a leaf."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.place import Place, at_device, at_node, at_port
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.explaining_checks import EFFECTS, OF_PAIRS
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.finding_places import add_places
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.root_causes import add_explanations
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.shared_causes import name_shared_groups, name_shared_leaves
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.silence import explained_by_silence
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.evaluate.verdicts import Verdict


def answered(host: str | None, verdict: str = "unknown", check: str = "answered") -> Verdict:
    return Verdict("links", check, None, host, verdict, ("rack_01",))


def test_only_a_node_that_does_not_answer_explains_findings(plan) -> None:
    given = [answered("gpu01"), answered("gpu02", "pass"), answered("gpu03", check="port_speed"), answered(None)]
    assert list(explained_by_silence(plan, given)) == ["gpu01"]


def test_a_silent_host_explains_its_ports_on_the_leaves_and_its_addresses(plan) -> None:
    found = explained_by_silence(plan, [answered("gpu03")])["gpu03"]
    assert found == ["*:gpu03", "leaf01:Ethernet3", "leaf02:Ethernet3", "*:10.50.0.3", "*:10.51.0.3"]


def test_a_silent_leaf_explains_its_far_ends_and_the_rails_on_it(plan) -> None:
    found = explained_by_silence(plan, [answered("leaf01")])["leaf01"]
    hosts = [place for number in range(1, 5) for place in (f"gpu0{number}:mlx5_0", f"*:10.50.0.{number}")]
    spines = [place for spine in (1, 2) for place in (f"spine0{spine}:Ethernet1", f"*:10.0.{spine}.2", f"*:10.0.{spine}.3")]
    assert found == ["*:leaf01", *(f"gpu0{number}:ens0" for number in range(1, 5)), *spines, *hosts]


def test_a_rail_without_an_address_adds_none(plan) -> None:
    for rail in plan.nodes["gpu03"].values["pod_rails"]:
        rail["address"] = None
    assert explained_by_silence(plan, [answered("gpu03")])["gpu03"] == ["*:gpu03", "leaf01:Ethernet3", "leaf02:Ethernet3"]


def placed(where: str | None) -> dict[str, t.Any]:
    """Where a recorded finding is, by a text: a port, a device or the host, and what follows it with the nodes that it names."""
    name, _space, of = (where or "").partition(" ")
    place = at_node(where) if where == "the host" else at_port(name.rstrip(","), of, peers=tuple(of.split())) if name else Place("")
    return {"where": where, "place": place.record()}


def leaf_of(plan: t.Any, host: str, where: str | None) -> str | None:
    record: dict[str, t.Any] = {"findings": [{"host": host, **placed(where)}]}
    add_places(plan, [record])
    return record["findings"][0]["leaf"]


def test_a_finding_at_a_hosts_rail_names_its_leaf(plan) -> None:
    assert [leaf_of(plan, "gpu01", where) for where in ("mlx5_0", "ens1", "mlx5_1 to gpu02 mlx5_0")] == ["leaf01", "leaf02", "leaf02"]
    assert [leaf_of(plan, host, where) for host, where in (("gpu01", "mlx5_9"), ("gpu01", None), ("gpu01", ""), ("leaf01", "ens0"))] == [None] * 4
    del plan.nodes["gpu01"].values["pod_rails"][0]["netdev"]
    assert leaf_of(plan, "gpu01", "ens0") is None and leaf_of(plan, "gpu01", "mlx5_0") == "leaf01"


def test_a_finding_at_a_member_of_a_bond_names_the_members_leaf_and_one_of_the_bond_none(plan) -> None:
    plan.nodes["gpu01"].values["pod_rails"][1].update(netdev="bond1", members=["ens1", "ens1f1"])
    assert [leaf_of(plan, "gpu01", where) for where in ("ens1", "ens1f1", "bond1", "mlx5_1")] == ["leaf02", None, None, None]


def recorded(check: str, severity: str, host: str = "gpu01", where: str = "the host", *, judged: bool = True) -> t.Any:
    finding = {"host": host, **placed(where), "severity": severity, "actual": check, "judged": judged}
    layer = "rdma" if check in ("slow_rail", "write_bw_per_rail") else "collectives"
    return {"layer": layer, "check": check, "group": "rack_01", "host": host, "affects": ["rack_01"], "findings": [finding]}


def explaining(follower: t.Any, *others: t.Any) -> list[str]:
    add_explanations([follower, *others])
    return [one["check"] for one in follower["findings"][0]["explained_by"]]


def test_a_slow_run_follows_from_the_host_that_is_slow_with_any_partner() -> None:
    assert explaining(recorded("all_reduce_bandwidth", "fail"), recorded("slow_node", "fail")) == ["slow_node"]
    assert explaining(recorded("all_reduce_bandwidth", "fail"), recorded("slow_node", "fail", "gpu02")) == []
    assert explaining(recorded("nccl_tests_bandwidth", "fail"), recorded("ranks_as_asked", "fail", "gpu02")) == ["ranks_as_asked"]


@pytest.mark.parametrize("follower", ["crc_clean", "switch_link_flaps", "link_flaps", "nic_link_flaps", "bit_error_rate"])
def test_bits_and_links_are_lost_to_a_hot_module_too_little_light_and_too_much_copper_of_the_same_link(follower: str) -> None:
    for check, where in (("optic_health", "ens0 temperature"), ("optic_rx_power", "ens0 lane 2"), ("cable_reach", "ens0")):
        assert explaining(recorded(follower, "fail", where="ens0"), recorded(check, "fail", where=where)) == [check]
        assert explaining(recorded(follower, "fail", where="ens1"), recorded(check, "fail", where=where)) == []
    # What a laser sends arrives at the other end.
    for where in ("ens0 lane 2 sent power", "ens0 whole power"):
        assert explaining(recorded(follower, "fail", where="ens0"), recorded("optic_health", "fail", where=where)) == []


@pytest.mark.parametrize(("rails", "found"), [((None, None), []), (("mlx5_4", "mlx5_4"), ["cable_reach"]), (("mlx5_4", "mlx5_5"), [])])
def test_a_rail_is_one_place_by_its_device_and_by_its_netdev(rails: tuple[str | None, ...], found: list[str]) -> None:
    bits, copper = recorded("nic_bit_error_rate", "fail", where="mlx5_4"), recorded("cable_reach", "fail", where="enp79s0np0")
    for one, rail in zip((bits, copper), rails):
        one["findings"][0]["rail"] = rail
    assert explaining(bits, copper) == found


def test_what_follows_from_what_began_elsewhere_began_there_too() -> None:
    laser = recorded("optic_health", "fail", "gpu02", "ens0 lane 4")
    dark, bits = recorded("optic_rx_power", "fail", where="ens0 lane 4"), recorded("crc_clean", "fail", where="ens0")
    add_explanations([laser, dark, bits])
    assert "origin" not in bits["findings"][0]
    dark["findings"][0]["began_at"] = ("gpu02", "ens0")
    add_explanations([laser, dark, bits])
    assert dark["findings"][0]["origin"] == bits["findings"][0]["origin"] == ("optic_health", "gpu02", "ens0")
    # Copper that is too long is of this end as much.
    other, copper = recorded("crc_clean", "fail", where="ens0"), recorded("cable_reach", "fail", where="ens0")
    add_explanations([laser, dark, copper, other])
    assert "origin" not in other["findings"][0]


@pytest.mark.parametrize(
    ("severity", "own", "found"),
    [
        ("fail", None, ("optic_health", "gpu02", "ens0")),
        # A warning does not explain all of a failure.
        ("warn", None, None),
        ("fail", ("cable_reach", "gpu03", "ens0"), ("cable_reach", "gpu03", "ens0")),
    ],
)
def test_a_finding_begins_where_what_it_follows_from_began_and_keeps_an_origin_of_its_own(severity: str, own: t.Any, found: t.Any) -> None:
    dark, bits = recorded("optic_rx_power", severity, where="ens0 lane 4"), recorded("crc_clean", "fail", where="ens0")
    dark["findings"][0]["origin"], bits["findings"][0]["origin"] = ("optic_health", "gpu02", "ens0"), own
    assert explaining(bits, dark) == ["optic_rx_power"] and bits["findings"][0]["origin"] == found


def test_what_began_elsewhere_is_found_over_several_findings_in_any_order() -> None:
    laser, dark = recorded("optic_health", "fail", "gpu02", "ens0 lane 4"), recorded("optic_rx_power", "fail", where="ens0 lane 4")
    bits, lost = recorded("link_flaps", "fail", where="ens0"), recorded("nic_link_flaps", "fail", where="ens0")
    dark["findings"][0]["began_at"] = ("gpu02", "ens0")
    # The last one follows from the two before it, one of which is evaluated after it.
    add_explanations([lost, laser, dark, bits])
    assert [one["findings"][0].get("origin") for one in (lost, bits)] == [("optic_health", "gpu02", "ens0")] * 2


@pytest.mark.parametrize(("leaf", "found"), [("leaf01", ["other_classes_kept"]), ("leaf02", [])])
def test_a_leaf_that_drops_notifications_explains_senders_on_it_that_do_not_slow_down(leaf: str, found: list[str]) -> None:
    deaf, drops = recorded("dcqcn_backs_off", "fail", where="mlx5_0"), recorded("other_classes_kept", "fail", "leaf01", "Ethernet1")
    deaf["findings"][0]["leaf"] = leaf
    assert explaining(deaf, drops) == found


def test_modules_are_hot_where_fans_have_failed() -> None:
    assert explaining(recorded("optic_health", "warn", where="ens0 temperature"), recorded("switch_environment", "warn")) == ["switch_environment"]
    for where in ("ens0 lane 2 sent power", "ens0 whole power"):
        assert explaining(recorded("optic_health", "warn", where=where), recorded("switch_environment", "warn")) == []


def test_what_is_unknown_explains_no_failure() -> None:
    variable = recorded("nccl_runtime", "unknown")
    assert explaining(recorded("node_all_reduce", "unknown"), variable) == ["nccl_runtime"]
    assert explaining(recorded("node_all_reduce", "fail"), variable) == []
    assert explaining(recorded("node_all_reduce", "unknown", judged=False), variable) == []
    assert explaining(recorded("node_all_reduce", "unknown"), recorded("nccl_runtime", "unknown", judged=False)) == []


def test_of_a_group_too_only_what_was_found_or_judged_explains() -> None:
    assert explaining(recorded("ecmp_paths", "unknown", judged=False), recorded("bgp_established", "fail", judged=False)) == ["bgp_established"]
    assert explaining(recorded("ecmp_paths", "unknown", judged=False), recorded("bgp_established", "unknown")) == []
    assert explaining(recorded("ecmp_paths", "unknown"), recorded("bgp_established", "unknown")) == ["bgp_established"]
    assert explaining(recorded("ecmp_paths", "unknown"), recorded("bgp_established", "unknown", judged=False)) == []


def test_a_session_or_lost_bits_are_no_effect_and_a_flap_of_a_nic_is() -> None:
    assert {"bgp_established", "optic_health", "crc_clean", "link_flaps"}.isdisjoint(EFFECTS) and {"nic_link_flaps", "ecmp_paths", "slow_rail"} < EFFECTS


@pytest.mark.parametrize(
    ("down", "missing", "follows"),
    [
        ([("leaf03", "spine01")], ("spine01",), True),
        ([("leaf07", "spine01")], ("spine01",), True),
        ([("spine01", "leaf07")], ("spine01",), True),
        ([("leaf03", "spine01"), ("leaf07", "spine02")], ("spine01", "spine02"), True),
        # Its own leaf lacks more than the session explains.
        ([("leaf03", "spine01")], ("spine01", "spine02"), False),
        # Neither of its leaf nor of the one that the route leads to.
        ([("leaf06", "spine01")], ("spine01",), False),
    ],
)
def test_paths_follow_from_sessions_that_explain_each_missing_one(down: list[tuple[str, str]], missing: tuple[str, ...], follows: bool) -> None:
    sessions = [recorded("bgp_established", "fail", host, f"port {peer}") for host, peer in down]
    paths = recorded("ecmp_paths", "fail", "leaf03")
    paths["findings"][0]["place"] = Place("10.57.0.0/24", peers=("leaf07",), missing=missing).record()
    assert explaining(paths, *sessions) == ["bgp_established"] * len(sessions)
    assert paths["findings"][0]["follows"] is follows


def test_what_explains_each_missing_node_is_printed_without_what_is_of_other_nodes() -> None:
    sessions = [recorded("bgp_established", "fail", "leaf03", f"port {spine}") for spine in ("spine01", "spine02")]
    elsewhere = recorded("bgp_established", "fail", "leaf06", "port spine03")
    paths = recorded("ecmp_paths", "fail", "leaf03")
    paths["findings"][0]["place"] = Place("10.57.0.0/24", missing=("spine01", "leaf03")).record()
    add_explanations([paths, *sessions, elsewhere])
    assert [one["host"] for one in paths["findings"][0]["explained_by"]] == ["leaf03", "leaf03"] and paths["findings"][0]["follows"]
    paths["findings"][0]["place"] = Place("10.57.0.0/24", missing=("leaf03", "spine01", "spine02")).record()
    add_explanations([paths, *sessions, elsewhere])
    assert paths["findings"][0]["follows"], "the sessions are about exactly the nodes that are missing"


def test_a_warning_does_not_explain_all_of_a_failure() -> None:
    slow = recorded("pfc_brief", "fail", "leaf03")
    assert explaining(slow, recorded("slow_receiver", "warn", "leaf03")) == ["slow_receiver"] and slow["findings"][0]["follows"] is False


def test_large_packets_that_are_lost_follow_from_the_ping_of_the_same_pair_alone() -> None:
    for host, pair, explained in (("gpu01", "mlx5_0 to gpu02", True), ("gpu01", "mlx5_0 to gpu03", False), ("gpu02", "mlx5_0 to gpu02", False)):
        probe = recorded("path_carries_full_size", "fail", where="mlx5_0 to gpu02")
        assert explaining(probe, recorded("rails_reachable", "fail", host, pair)) == ["rails_reachable"] * explained
        assert probe["findings"][0]["follows"] is explained


def test_a_slow_rail_follows_from_its_own_test_alone() -> None:
    tested = recorded("write_bw_per_rail", "fail", where="mlx5_0")
    assert explaining(recorded("slow_rail", "fail", where="mlx5_0"), tested) == ["write_bw_per_rail"]
    assert explaining(recorded("slow_rail", "fail", where="mlx5_1"), tested) == []
    of_gpu_memory = [
        {**recorded("gpu_write_bw", "fail", where=f"{device}, cuda memory"), "layer": "rdma", "verdict": "fail"} for device in ("mlx5_0", "mlx5_1")
    ]
    assert [explaining(one, tested) for one in of_gpu_memory] == [["write_bw_per_rail"], []]


def test_an_explanation_of_a_lower_layer_comes_before_that_of_the_same_one() -> None:
    tested = recorded("write_bw_per_rail", "fail", where="mlx5_0")
    assert explaining(recorded("all_reduce_bandwidth", "fail"), tested, recorded("slow_node", "fail")) == ["write_bw_per_rail", "slow_node"]


def joined(plan: t.Any, rate: tuple[str, str, str], below: tuple[str, str, str]) -> bool:
    """Whether a finding (check, host, where) of layer 4 or 5 is joined with one of layer 1."""
    names = ("rdma", "collectives"), ("links", "links")
    (follower, cause) = ({**recorded(one[0], "fail", one[1], one[2]), "layer": layers[one[0] not in OF_PAIRS]} for one, layers in zip((rate, below), names))
    cause["group"] = None if cause["findings"][0]["host"].startswith("leaf") else "rack_01"
    add_places(plan, [follower, cause])
    return bool(explaining(follower, cause))


@pytest.mark.parametrize(
    ("rate", "below", "explains"),
    [
        (("write_bw_per_rail", "gpu01", "mlx5_0"), ("nic_bit_error_rate", "gpu01", "mlx5_0"), True),
        (("write_bw_per_rail", "gpu01", "mlx5_0"), ("crc_clean", "gpu01", "ens0"), True),
        (("write_bw_per_rail", "gpu01", "mlx5_0"), ("nic_bit_error_rate", "gpu01", "mlx5_1"), False),
        (("write_bw_per_rail", "gpu01", "mlx5_0"), ("pcie_link", "gpu01", "GPU 3"), True),
        (("write_bw_per_rail", "gpu01", "mlx5_0"), ("crc_clean", "leaf01", "Ethernet1"), True),
        (("write_bw_per_rail", "gpu01", "mlx5_0"), ("crc_clean", "leaf02", "Ethernet1"), False),
        (("write_bw_per_rail", "gpu01", "mlx5_0"), ("crc_clean", "leaf01", "Ethernet2"), False),
        (("write_bw_per_rail", "gpu01", "mlx5_0 to gpu02 mlx5_0"), ("crc_clean", "leaf01", "Ethernet2"), True),
        (("write_bw_per_rail", "gpu01", "mlx5_0"), ("crc_clean", "leaf01", "Ethernet33"), True),
        (("all_reduce_bandwidth", "gpu01", "all_reduce"), ("crc_clean", "leaf01", "Ethernet2"), True),
        (("rail_all_reduce", "gpu01", "mlx5_0"), ("crc_clean", "leaf01", "Ethernet2"), True),
        (("write_bw_per_rail", "gpu01", "every rail"), ("nic_bit_error_rate", "gpu01", "mlx5_1"), True),
    ],
)
def test_what_a_lower_layer_found_explains_only_what_passes_there(plan, rate, below, explains: bool) -> None:
    """A rail by findings of this rail or of its cable's ends, or of a partner that is named; a run of all hosts by any of theirs."""
    assert joined(plan, rate, below) is explains


def test_a_finding_on_a_switch_names_the_host_behind_its_port(plan) -> None:
    found = recorded("switch_drops", "fail", "leaf01", "drops of queue UC3")
    ports = ((Place("drops", port="Ethernet2"), "gpu02"), (at_port("Ethernet3", "drops"), "gpu03"), (at_port("Ethernet33"), None), (Place("ECN"), None))
    for place, peer in ports:
        found["findings"][0].update(place=place.record(), where=str(place))
        add_places(plan, [found])
        assert found["findings"][0]["peer"] == peer


@pytest.mark.parametrize(("check", "severity"), [("all_rails_used", "fail"), ("gpudirect_used", "unknown")])
def test_the_library_is_blamed_for_gpudirect_alone(check: str, severity: str) -> None:
    other, tested = recorded(check, severity, "gpu03", "channels"), {**recorded("gpu_write_bw", "fail", "gpu03"), "verdict": "pass", "findings": []}
    add_explanations([tested, other])
    assert "cause" not in other["findings"][0]


@pytest.mark.parametrize(
    ("of_memory", "own", "library"),
    [("pass", None, True), ("warn", None, False), ("fail", None, False), ("skip", None, False), ("pass", "NCCL is too old.", False), (None, None, False)],
)
def test_gpu_memory_that_is_fast_at_layer_4_and_not_used_at_layer_5_is_the_librarys(of_memory: str | None, own: str | None, library: bool) -> None:
    unused = recorded("gpudirect_used", "fail", "gpu03", "channels")
    unused["findings"][0]["cause"] = own
    tested = [{"layer": "rdma", "check": "gpu_write_bw", "group": "rack_01", "host": host, "verdict": word, "affects": ["rack_01"], "findings": []}
              for host, word in (("gpu03", of_memory), ("gpu04", "pass")) if word]  # fmt: skip
    add_explanations([*tested, unused])
    cause = unused["findings"][0]["cause"]
    assert (cause != own) is library and ("gpu_write_bw passes on gpu03" in (cause or "")) is library
    assert ("NCCL_NET_GDR_LEVEL" in (unused["findings"][0].get("fix") or "")) is library


@pytest.mark.parametrize(
    ("check", "grown", "severity", "host", "explains"),
    [
        ("slow_rank", "gpu_slowdown_under_load", "warn", "gpu01", True),
        ("slow_rank", "gpu_slowdown_under_load", "warn", "gpu02", False),
        ("slow_rank", "gpu_slowdown_under_load", "unknown", "gpu01", False),
        ("slow_rank", "losses_under_load", "fail", "gpu01", False),
        ("step_outliers", "losses_under_load", "fail", "gpu01", True),
        ("step_time_stable", "log_under_load", "fail", "gpu01", True),
        ("all_reduce_bandwidth", "links_under_load", "fail", "gpu01", True),
    ],
)
def test_what_grew_on_a_host_in_the_load_explains_its_slow_steps(check: str, grown: str, severity: str, host: str, explains: bool) -> None:
    slow = recorded(check, "fail", where="rank 1 (GPU 1)")
    slow["findings"][0]["cause"] = "The other ranks waited for this rank's computation in those steps."
    assert explaining(slow, recorded(grown, severity, host, "GPU 1")) == [grown] * explains


@pytest.mark.parametrize(
    ("follower", "place", "of", "cause", "explains"),
    [
        ("nic_settings", at_device("mlx5_0", "NUM_OF_VFS"), at_device("mlx5_0", "NUM_OF_VFS"), "nic_reset_pending", True),
        ("nic_settings", at_device("mlx5_0", "NUM_OF_VFS"), at_device("mlx5_0", "PCI_WR_ORDERING"), "nic_reset_pending", False),
        ("nic_settings", at_device("mlx5_0", "NUM_OF_VFS"), at_device("mlx5_3", "NUM_OF_VFS"), "nic_reset_pending", False),
        ("software_pinned", Place("firmware of mlx5_0", of="firmware"), Place("all 8 rails"), "nic_driver_uniform", True),
        ("software_pinned", Place("kernel", of="kernel"), Place("all 8 rails"), "nic_driver_uniform", False),
        ("nic_link_flaps", at_port("ens0"), at_port("ens0"), "link_flaps", True),
        ("nic_link_flaps", at_port("ens0"), at_port("ens1"), "link_flaps", False),
    ],
)
def test_what_follows_from_another_finding_of_its_host_is_at_its_place(follower: str, place: Place, of: Place, cause: str, explains: bool) -> None:
    records = [recorded(follower, "fail"), recorded(cause, "fail")]
    for record, where in zip(records, (place, of)):
        record["findings"][0].update(where=str(where), place=where.record())
    assert explaining(*records) == [cause] * explains


def test_what_a_switch_dropped_explains_what_hosts_sent_again() -> None:
    assert explaining(recorded("no_drops", "fail"), recorded("switch_drops", "fail", "leaf05", "Ethernet8")) == ["switch_drops"]


def below(check: str, host: str | None = "gpu01", where: str = "mlx5_0", severity: str = "fail", **more: t.Any) -> t.Any:
    """A finding of layer 1."""
    return {**recorded(check, severity, t.cast("str", host), where), "layer": "links", **more}


def test_five_explain_at_most_and_one_of_the_same_layer_has_its_place() -> None:
    six = [below("crc_clean", where=f"mlx5_{number}") for number in range(6)]
    assert explaining(recorded("all_reduce_bandwidth", "fail"), *six) == ["crc_clean"] * 5
    assert explaining(recorded("all_reduce_bandwidth", "fail"), *six, recorded("slow_node", "fail")) == ["crc_clean"] * 4 + ["slow_node"]
    assert explaining(recorded("nccl_tests_bandwidth", "fail"), *six, recorded("ranks_as_asked", "fail", "gpu02")) == ["crc_clean"] * 4 + ["ranks_as_asked"]


def test_what_a_lower_layer_could_not_decide_explains_nothing() -> None:
    assert explaining(recorded("all_reduce_bandwidth", "fail"), below("crc_clean", severity="unknown")) == []


def test_another_hosts_finding_explains_no_rate_and_a_switchs_does() -> None:
    assert explaining(recorded("all_reduce_bandwidth", "fail"), below("crc_clean", "gpu02")) == []
    assert explaining(recorded("all_reduce_bandwidth", "fail"), below("crc_clean", "leaf01", "Ethernet33", group=None)) == ["crc_clean"]


def test_a_finding_of_a_group_explains_one_of_the_same_group_only_where_neither_names_a_host() -> None:
    whole = recorded("all_reduce_bandwidth", "fail", t.cast("str", None))
    assert explaining(whole, below("crc_clean", None)) == ["crc_clean"]


def test_what_explains_its_own_layer_alone_explains_no_higher_one() -> None:
    slower = {**recorded("mfu", "fail"), "layer": "training"}
    assert explaining(slower, recorded("slow_node", "fail")) == []
    assert explaining(slower, {**recorded("switch_links_under_load", "fail", "leaf01"), "group": None}) == []


def test_what_is_no_rate_is_explained_by_nothing() -> None:
    wrong = recorded("nccl_runtime", "fail")
    add_explanations([wrong, below("crc_clean")])
    assert "explained_by" not in wrong["findings"][0]


def test_a_finding_with_the_words_of_its_check_explains_what_follows_from_it() -> None:
    assert explaining(recorded("all_reduce_bandwidth", "fail"), recorded("slow_node", "fail", judged=False)) == ["slow_node"]
    assert explaining(recorded("node_all_reduce", "unknown", judged=False), recorded("nccl_runtime", "fail")) == ["nccl_runtime"]


def test_a_rail_whose_run_hung_follows_from_what_is_known_of_its_ranks() -> None:
    def of_rail(*peers: str, judged: bool = True) -> t.Any:
        return recorded("rail_all_reduce", "unknown", None, " ".join(("mlx5_0", *peers)), judged=judged)  # type: ignore[arg-type]

    hung, dead = recorded("collectives_correct", "unknown"), recorded("collectives_correct", "fail")
    assert explaining(of_rail("gpu01", "gpu02"), hung) == ["collectives_correct"] == explaining(of_rail("gpu01"), dead)
    assert explaining(of_rail("gpu01", judged=False), hung) == []
    other = of_rail("gpu02")
    add_explanations([other, hung])
    assert not other["findings"][0]["follows"]


def test_a_path_is_no_host() -> None:
    assert explaining(recorded("all_reduce_bandwidth", "fail"), recorded("slow_node", "fail", where="the path to gpu02")) == []
    assert explaining(recorded("slow_rail", "fail", where=t.cast("str", None)), recorded("write_bw_per_rail", "fail", where="mlx5_0")) == []


def test_a_failure_with_a_cause_of_its_own_needs_no_host_to_explain_it() -> None:
    slow = recorded("all_reduce_bandwidth", "fail")
    slow["findings"][0]["cause"] = "GPUDirect is not used."
    assert explaining(slow, recorded("slow_node", "fail")) == []


@pytest.mark.parametrize(("leaf", "explains"), [("leaf01", True), ("leaf02", False)])
def test_a_switch_that_does_not_mark_explains_the_rails_on_it_alone(plan, leaf: str, explains: bool) -> None:
    unmarked, silent = (
        {**recorded(check, "fail", host, "mlx5_0"), "layer": "congestion"} for check, host in (("ecn_marks_under_load", "gpu01"), ("switch_marks", leaf))
    )
    silent["group"] = None
    add_places(plan, [unmarked, silent])
    assert explaining(unmarked, silent) == ["switch_marks"] * explains


@pytest.mark.parametrize(("verdict", "explains"), [("pass", False), ("warn", True), ("fail", True)])
def test_a_switch_explains_the_groups_that_its_finding_is_about(verdict: str, explains: bool) -> None:
    of_port = below("crc_clean", "leaf01", "Ethernet33", group=None, affects=["rack_01", "rack_02"], by_group={"rack_01": verdict, "rack_02": "fail"})
    assert explaining(recorded("all_reduce_bandwidth", "fail"), of_port) == ["crc_clean"] * explains


def of_leaf(plan: t.Any, slow: dict[str, list[str]], severity: str = "fail", check: str = "write_bw_per_rail") -> dict[str, str | None]:
    """The cause of each finding, by host and rail; slow: the rails of each of four hosts."""
    records = []
    for number in range(1, 5):
        host = f"gpu0{number}"
        findings = [{"host": host, **placed(rail), "severity": severity} for rail in slow.get(host, [])]
        records.append({"check": check, "host": host, "verdict": severity if findings else "pass", "findings": findings})
    add_places(plan, records)  # type: ignore[arg-type]
    name_shared_leaves(plan, records)  # type: ignore[arg-type]
    return {f"{one['host']} {one['where']}": one.get("cause") for record in records for one in record["findings"]}  # type: ignore[attr-defined]


def test_a_leaf_is_named_where_all_of_its_hosts_are_slow_on_it_and_well_elsewhere(plan) -> None:
    every = [f"gpu0{number}" for number in range(1, 5)]
    found = of_leaf(plan, {host: ["mlx5_0"] for host in every})
    assert len(found) == 4 and all("leaf01" in (cause or "") for cause in found.values())
    lost = of_leaf(plan, {host: ["mlx5_0"] for host in every}, check="losses_under_load")
    assert all("lost or damaged on leaf01" in (cause or "") for cause in lost.values())
    # One of them is well there, all leaves are slow, or nothing was measured: it is not the leaf that is known to be.
    assert set(of_leaf(plan, {host: ["mlx5_0"] for host in every[:3]}).values()) == {None}
    assert set(of_leaf(plan, {host: ["mlx5_0", "mlx5_1"] for host in every}).values()) == {None}
    assert set(of_leaf(plan, {host: ["mlx5_0"] for host in every}, "unknown").values()) == {None}


def lost_pings(pairs: dict[str, list[tuple[str, str]]]) -> list[t.Any]:
    """A record of lost pings for each host: from which rails to which addresses."""
    return [
        {
            "check": "rails_reachable", "host": host, "verdict": "fail" if its else "pass", "findings": [
                {"host": host, "where": device, "place": {"device": device, "peers": ["gpu09", address]}, "severity": "fail"} for device, address in its
            ],
        }
        for host, its in pairs.items()
    ]  # fmt: skip


def test_a_leaf_that_loses_pings_is_named_in_those_that_other_rails_send_to_it(plan) -> None:
    every = [f"gpu0{number}" for number in range(1, 5)]
    on_leaf, from_others = ("mlx5_0", "10.50.0.9"), ("mlx5_1", "10.50.0.1")
    records = lost_pings({host: [on_leaf, from_others] for host in every})
    add_places(plan, records)
    name_shared_leaves(plan, records)
    assert all("lose pings on leaf01" in one["cause"] and "leaf02" in one["fix"] for record in records for one in record["findings"])
    # What the other leaf loses among its own rails is no ping of this leaf.
    records = lost_pings({host: [on_leaf, ("mlx5_1", "10.51.0.1")] for host in every})
    add_places(plan, records)
    name_shared_leaves(plan, records)
    assert not any("cause" in one for record in records for one in record["findings"])


@pytest.mark.parametrize(
    ("check", "severity", "words"),
    [
        ("path_carries_full_size", "fail", "large packets"),
        ("write_latency", "warn", "longer latency"),
        ("crc_clean", "fail", "damaged frames"),
        ("slow_receiver", "fail", "pauses leaf01 on all 4 hosts"),
    ],
)
def test_a_leaf_is_named_in_findings_of_its_severity(plan, check: str, severity: str, words: str) -> None:
    slow = {f"gpu0{number}": ["mlx5_0"] for number in range(1, 5)}
    assert all(words in (cause or "") and "leaf01" in (cause or "") for cause in of_leaf(plan, slow, severity, check).values())
    assert set(of_leaf(plan, slow, "warn" if severity == "fail" else "fail", check).values()) == {None}


def test_what_began_elsewhere_is_not_the_leafs(plan) -> None:
    records = [{**record, "check": "crc_clean"} for record in slow_on("leaf01", "gpu01", "gpu02", "gpu03", "gpu04")]
    for record in records:
        record["findings"][0]["began_at"] = ("leaf02", "Ethernet9")
    assert blamed(plan, records) == []


def slow_on(leaf: str | None, *hosts: str, severity: str = "fail") -> list[t.Any]:
    """A record of a slow rail for each host, on a leaf."""
    findings = [{"host": host, "where": "mlx5_0", "severity": severity, "leaf": leaf, "cause": None, "fix": None} for host in hosts]
    return [{"check": "write_bw_per_rail", "host": one["host"], "verdict": severity, "findings": [one]} for one in findings]


def blamed(plan: t.Any, records: list[t.Any]) -> list[str]:
    """The leaf that is compared with each finding's, where a cause was given."""
    name_shared_leaves(plan, records)
    found = [one for record in records for one in record["findings"]]
    assert all("leaf01" in one["cause"] for one in found if one["fix"])
    return [one["fix"].split(":")[0] for one in found if one["fix"]]


def test_a_leaf_is_named_from_three_hosts_on_and_only_by_what_was_judged(plan) -> None:
    compare = "Compare leaf01 with leaf02"
    assert blamed(plan, slow_on("leaf01", "gpu01", "gpu02", "gpu03")) == [compare] * 3, "gpu04 was not tested"
    assert blamed(plan, slow_on("leaf01", "gpu01", "gpu02")) == []
    for other in ({"check": "slow_rail", "verdict": "pass"}, {"check": "write_bw_per_rail", "verdict": "unknown"}):
        of_gpu04 = {"host": "gpu04", "findings": [], **other}
        assert blamed(plan, [*slow_on("leaf01", "gpu01", "gpu02", "gpu03"), of_gpu04]) == [compare] * 3, other
    warned = slow_on("leaf01", "gpu04", severity="warn")
    assert blamed(plan, [*slow_on("leaf01", "gpu01", "gpu02", "gpu03"), *warned]) == [], "gpu04 is slow, and not so slow that it fails"
    of_another_check = [{**slow_on("leaf01", "gpu04")[0], "check": "slow_rail"}]
    assert blamed(plan, [*slow_on("leaf01", "gpu01", "gpu02", "gpu03"), *of_another_check]) == [compare] * 3


def test_a_leaf_is_compared_with_the_first_other_one_of_the_same_hosts(plan) -> None:
    for node in plan.nodes.values():
        if node.kind == "host":
            node.values["pod_rails"].append({"device": "mlx5_2", "netdev": "ens2", "gpu": 2, "leaf": "leaf03", "address": None})
    every = [f"gpu0{number}" for number in range(1, 5)]
    assert blamed(plan, slow_on("leaf01", *every)) == ["Compare leaf01 with leaf02"] * 4
    for host in every:
        del plan.nodes[host].values["pod_rails"][1:]
    assert blamed(plan, slow_on("leaf01", *every)) == [], "there is no other leaf"
    plan.nodes["gpu04"].values["pod_rails"] = [{"device": "mlx5_1", "netdev": "ens1", "gpu": 1, "leaf": "leaf02", "address": None}]
    elsewhere = {"check": "write_bw_per_rail", "host": "gpu04", "verdict": "pass", "findings": []}
    assert blamed(plan, [*slow_on("leaf01", *every[:3]), elsewhere]) == [], "the other leaf has none of these hosts"
    for host in every[:3]:
        plan.nodes[host].values["pod_rails"].append({"device": "mlx5_9", "netdev": "ens9", "gpu": 1, "leaf": None, "address": None})
    assert blamed(plan, [*slow_on("leaf01", *every[:3]), elsewhere]) == [], "a rail without a leaf is no other leaf"


def test_a_leaf_that_all_receive_from_in_another_class_is_named(plan) -> None:
    every = [f"gpu0{number}" for number in range(1, 5)]
    records = [{**slow_on("leaf01", host)[0], "check": "right_class"} for host in every]
    name_shared_leaves(plan, records)
    assert all("leaf01 rewrites or does not trust DSCP" in one["findings"][0]["cause"] for one in records)


def slow_hosts(plan: t.Any, slow: dict[str, list[str]], hosts: int = 4, severity: str = "fail") -> list[t.Any]:
    """Records by the slow rails of each host; gpu01 to gpu03 are one gate group, gpu04 another one."""
    plan.groups.clear()
    plan.groups |= {"rack_01": ["gpu01", "gpu02", "gpu03"], "rack_02": ["gpu04"]}
    records: list[t.Any] = [
        {
            "check": "write_bw_per_rail", "host": host, "verdict": severity if slow.get(host) else "pass",
            "findings": [{"host": host, **placed(rail), "severity": severity} for rail in slow.get(host, ())],
        }
        for host in [f"gpu0{number}" for number in range(1, hosts + 1)]
    ]  # fmt: skip
    add_places(plan, records)
    return records


def causes(plan: t.Any, records: list[t.Any]) -> set[str | None]:
    """The causes of all findings after the groups are named."""
    name_shared_groups(plan, records)
    return {one.get("cause") for record in records for one in record["findings"]}


WHOLE_GROUP = {host: ["mlx5_0", "mlx5_1"] for host in ("gpu01", "gpu02", "gpu03")}


def test_a_gate_group_is_named_where_all_of_its_rails_are_slow_and_another_group_is_well(plan) -> None:
    (cause,) = causes(plan, slow_hosts(plan, WHOLE_GROUP))
    assert "All rails of all 3 hosts of rack_01 are slow, and those of rack_02 pass" in (cause or "") and "BIOS" in (cause or "")
    # One rail is well, the other group is slow too, or there is none to compare with: what the hosts share is not known to be the reason.
    assert causes(plan, slow_hosts(plan, {**WHOLE_GROUP, "gpu02": ["mlx5_0"]})) == {None}
    assert causes(plan, slow_hosts(plan, {**WHOLE_GROUP, "gpu04": ["mlx5_0"]})) == {None}
    assert causes(plan, slow_hosts(plan, WHOLE_GROUP, hosts=3)) == {None}


def test_a_gate_group_is_named_from_three_hosts_on(plan) -> None:
    records = slow_hosts(plan, WHOLE_GROUP)
    assert causes(plan, [record for record in records if record["host"] != "gpu03"]) == {None}


def test_a_gate_group_is_judged_by_what_its_bandwidth_tests_proved_alone(plan) -> None:
    records = slow_hosts(plan, WHOLE_GROUP)
    # gpu04 fails another check, or its rails could not be tested: neither makes the other group slow, and the second does not make it well.
    other = {"check": "slow_rail", "host": "gpu04", "verdict": "fail", "findings": []}
    assert None not in causes(plan, [*records, other])
    untested = [{**record, "verdict": "unknown"} if record["host"] == "gpu04" else record for record in slow_hosts(plan, WHOLE_GROUP)]
    assert causes(plan, untested) == {None}
    assert causes(plan, slow_hosts(plan, WHOLE_GROUP, severity="warn")) == {None}


def test_a_warning_is_no_slow_rail_of_a_gate_group_and_gets_no_cause_of_it(plan) -> None:
    records = slow_hosts(plan, WHOLE_GROUP)
    records[0]["findings"][1]["severity"] = "warn"
    assert causes(plan, records) == {None}
    records = slow_hosts(plan, WHOLE_GROUP)
    records[0]["findings"].append({**records[0]["findings"][0], "severity": "warn", "cause": "its own"})
    assert "its own" in causes(plan, records)


def test_a_gate_group_is_compared_with_the_first_one_that_is_well(plan) -> None:
    records = slow_hosts(plan, WHOLE_GROUP)
    plan.groups["rack_03"] = ["gpu05"]
    records.append({"check": "write_bw_per_rail", "host": "gpu05", "verdict": "pass", "findings": []})
    (cause,) = causes(plan, records)
    assert "those of rack_02 pass" in (cause or "") and "one of rack_02:" in records[0]["findings"][0]["fix"]


def crc(host: str, port: str, began_at: tuple[str, str] | None = None, check: str = "crc_clean") -> t.Any:
    record = recorded(check, "unknown" if began_at else "fail", host, port)
    record["layer"] = "links"
    record["findings"][0] |= {"began_at": began_at} if began_at else {}
    return record


def origins(*records: t.Any) -> list[t.Any]:
    add_explanations(records)
    return [record["findings"][0].get("origin") for record in records]


def test_what_was_passed_on_begins_where_nothing_was_before() -> None:
    begun, between = crc("leaf01", "Ethernet3/1"), crc("spine01", "Ethernet1", ("leaf01", "Et3/1"))
    ends = [crc("leaf02", "Ethernet33/1", ("spine01", "Ethernet1")), crc("leaf02", "Ethernet33/1", ("spine01", "Ethernet1"), "errors_clean")]
    assert origins(*ends, between, begun) == [("crc_clean", "leaf01", "Ethernet3/1")] * 3 + [None]


def test_a_way_that_leads_round_or_to_no_finding_has_no_beginning() -> None:
    assert origins(crc("spine01", "Ethernet1", ("leaf01", "Ethernet9/1"))) == [None]
    assert origins(crc("leaf01", "Ethernet33/1", ("spine01", "Ethernet1")), crc("spine01", "Ethernet1", ("leaf01", "Ethernet33/1"))) == [None] * 2


def test_what_began_on_a_node_as_a_whole_begins_at_any_finding_of_the_check_there() -> None:
    seen = crc("spine01", "Ethernet1", ("leaf07", ""), "bgp_established")
    assert origins(seen, crc("leaf07", "Ethernet33/1", None, "bgp_established")) == [("bgp_established", "leaf07", ""), None]
    assert origins(seen, crc("leaf07", "the host", None, "bgp_established")) == [("bgp_established", "leaf07", ""), None]
    # Of several findings it is one that began there.
    seen["findings"][0].pop("origin")
    other = crc("leaf07", "Ethernet33/1", ("spine02", "Ethernet9"), "bgp_established")
    assert origins(seen, other, crc("leaf07", "Ethernet34/1", None, "bgp_established"))[0] == ("bgp_established", "leaf07", "")
    # Not at one of another check, nor at one that says itself that it began elsewhere.
    seen["findings"][0].pop("origin")
    assert origins(seen, crc("leaf07", "Ethernet33/1", None, "path_mtu")) == [None, None]
    assert origins(seen, crc("leaf07", "Ethernet33/1", ("spine01", "Ethernet9"), "bgp_established")) == [None, None]


def sender(host: str, leaf: str) -> t.Any:
    record = recorded("dcqcn_backs_off", "fail", host, "mlx5_4")
    record["findings"][0]["leaf"] = leaf
    return record


def test_what_spreads_from_notifications_that_a_leaf_drops_begins_at_that_leaf() -> None:
    drops = recorded("other_classes_kept", "fail", "leaf03", "Ethernet0")
    pauses, slow = recorded("pauses_stay_local", "unknown", "spine01", "Ethernet16"), recorded("fair_share", "warn", "gpu04", "mlx5_0")
    begun = ("other_classes_kept", "leaf03", "Ethernet0")
    assert origins(sender("gpu01", "leaf03"), pauses, slow, drops) == [begun, begun, begun, None]


def test_where_a_nic_does_not_react_besides_nothing_of_it_is_counted_to_a_leaf() -> None:
    drops, pauses = recorded("other_classes_kept", "fail", "leaf03", "Ethernet0"), recorded("pauses_stay_local", "unknown", "spine01", "Ethernet16")
    deaf = sender("gpu02", "leaf05")
    assert origins(deaf, sender("gpu01", "leaf03"), pauses, drops) == [None, ("other_classes_kept", "leaf03", "Ethernet0"), None, None]
    # Drops of another class are a warning, and no reason for a NIC that does not react.
    assert origins(sender("gpu01", "leaf03"), recorded("other_classes_kept", "warn", "leaf03", "Ethernet0"))[0] is None


def test_pauses_that_several_nics_begin_alike_are_counted_to_these() -> None:
    deaf, begun = [sender("gpu01", "leaf03"), sender("gpu02", "leaf05")], ("dcqcn_backs_off", "gpu01", "mlx5_4")
    pauses = recorded("pauses_stay_local", "unknown", "spine01", "Ethernet16")
    # That frames are counted and no time is why it is unknown, and says nothing of where it began.
    pauses["findings"][0]["cause"] = "The port counts its pause frames, and not for how long they stop it."
    assert origins(*deaf, pauses) == [None, None, begun]
    # A failure with a cause of its own does, and so do NICs of which other things are found.
    pauses["findings"][0] = {**pauses["findings"][0], "severity": "fail"}
    pauses["findings"][0].pop("origin")
    assert origins(*deaf, pauses)[2] is None
    other = sender("gpu02", "leaf05")
    other["findings"][0]["actual"] = "none sent for marked packets"
    assert origins(deaf[0], other, recorded("pauses_stay_local", "unknown", "spine01", "Ethernet16"))[2] is None


def test_a_low_rate_beside_a_sender_that_does_not_slow_down_begins_only_at_a_node_that_it_names() -> None:
    def slow(*peers: str) -> t.Any:
        record = recorded("fair_share", "warn", "gpu04", "mlx5_0")
        record["findings"][0]["place"] = {**record["findings"][0].get("place", {}), "peers": list(peers)}
        return record

    assert origins(sender("gpu01", "leaf03"), slow("gpu02", "gpu01"))[1] == ("dcqcn_backs_off", "gpu01", "mlx5_4")
    assert origins(sender("gpu01", "leaf03"), slow("gpu02", "gpu03"))[1] is None


@pytest.mark.parametrize(
    ("cause", "leaf", "begun"),
    [("", "leaf05", ("switch_drops", "leaf05", "Ethernet0")), ("Its receive buffer is too small.", "leaf05", None), ("", "leaf07", None)],
)
def test_what_hosts_send_again_began_where_a_switch_dropped_it(cause: str, leaf: str, begun: tuple[str, ...] | None) -> None:
    drops, again = recorded("switch_drops", "fail", "leaf05", "Ethernet0"), recorded("no_drops", "fail", where="mlx5_0")
    again["findings"][0] |= {"cause": cause, "place": {"device": "mlx5_0", "of": "packet_seq_err", "peers": [leaf]}}
    assert origins(again, drops)[0] == begun


def test_what_a_leaf_does_not_mark_begins_at_its_setting_and_is_no_receiver_of_its() -> None:
    setting, marks = recorded("qos_agrees", "fail", "leaf03", "ECN"), recorded("switch_marks", "fail", "leaf03", "ECN")
    setting["findings"][0]["place"], marks["findings"][0]["place"] = {"of": "ECN"}, {}
    unmarked, pauses = recorded("ecn_marks_under_load", "fail", "gpu03", "mlx5_4"), recorded("pauses_stay_local", "fail", "spine01", "Ethernet16")
    unmarked["findings"][0]["leaf"] = "leaf03"
    assert origins(unmarked, pauses, marks, setting) == [("qos_agrees", "leaf03", "")] * 3 + [None]
    # PFC at one of its ports is another setting.
    setting["findings"][0] |= {"place": {"of": "PFC", "port": "Ethernet3/1"}}
    for record in (unmarked, pauses, marks):
        record["findings"][0].pop("origin")
    assert origins(unmarked, pauses, marks, setting) == [("switch_marks", "leaf03", "")] * 2 + [None] * 2


@pytest.mark.parametrize(("named", "begun"), [("gpu03", ("hosts_have_links", "leaf03", "Ethernet3/1")), ("gpu04", None)])
def test_a_rail_without_a_link_begins_at_a_leaf_that_names_its_host(named: str, begun: tuple[str, ...] | None) -> None:
    rail, leaf = recorded("rails_present", "fail", "gpu03", "mlx5_4"), recorded("hosts_have_links", "fail", "leaf03", "Ethernet3/1")
    rail["findings"][0] |= {"leaf": "leaf03", "cause": "The cable or optic is out."}
    leaf["findings"][0]["place"] = {"port": "Ethernet3/1", "peers": [named]}
    assert origins(rail, leaf)[0] == begun


def test_a_link_lost_under_load_begins_at_its_leaf_and_another_port_of_that_leaf_does_not() -> None:
    leaf = recorded("hosts_keep_links_under_load", "fail", "leaf03", "Ethernet3/1")
    leaf["findings"][0]["place"] = {"port": "Ethernet3/1", "peers": ["gpu03"]}
    own = [recorded("switch_links_under_load", "fail", "leaf03", port) for port in ("Ethernet3/1", "Ethernet7/1")]
    hosts = [recorded("links_under_load", "fail", host, "enp79s0np0") for host in ("gpu03", "gpu07")]
    for record in hosts:
        record["findings"][0]["leaf"] = "leaf03"
    begun = ("hosts_keep_links_under_load", "leaf03", "Ethernet3/1")
    assert origins(*own, *hosts, leaf) == [begun, None, begun, None, None]


@pytest.mark.parametrize(
    ("severity", "logged", "begun"),
    [
        ("fail", False, ("no_nccl_timeouts", "gpu06", "")),
        # What explains why the rank ended is where it began.
        ("fail", True, ("log_under_load", "gpu06", "")),
        # Where nobody is known to have ended the run, each host says for itself that nothing was measured.
        ("unknown", False, None),
    ],
)
def test_what_a_run_that_a_rank_ended_did_not_measure_begins_at_that_rank(severity: str, logged: bool, begun: tuple[str, ...] | None) -> None:
    ended, log = recorded("no_nccl_timeouts", severity, "gpu06", "rank 43"), recorded("log_under_load", "fail", "gpu06", "memory")
    steps, whole = recorded("step_time_stable", "unknown", "gpu01"), recorded("ranks_agree", "unknown", "gpu01")
    steps |= {"verdict": "unknown", "findings": []}
    whole["verdict"] = "unknown"
    records = [steps, whole, ended, *([log] if logged else [])]
    for record in records:
        record["layer"] = "training"
    add_explanations(records)
    assert steps.get("origin") == begun and "origin" not in whole


def test_what_a_run_did_not_measure_begins_at_the_one_host_at_which_all_that_ended_began() -> None:
    steps = recorded("step_time_stable", "unknown", "gpu01") | {"verdict": "unknown", "findings": []}
    lost, of_other = recorded("no_nccl_timeouts", "unknown", "gpu05", "rank 34"), recorded("no_nccl_timeouts", "unknown", "gpu01", "rank 2")
    of_other["findings"][0]["began_at"] = ("gpu05", "")
    add_explanations([steps, of_other, lost])
    assert steps["origin"] == ("no_nccl_timeouts", "gpu05", "")
