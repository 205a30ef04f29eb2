# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Incasts across gate groups by plain calls: two leaves with an uplink of 200 Gb/s to each of three spines, and two receivers of 400 at each leaf."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import CannotTell, NotApplicable
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.congestion import across, load, spines

Rows = list[dict[str, t.Any]]
LEAVES, SPINES = ("leaf01", "leaf02"), ("spine01", "spine02", "spine03")
CABLES = [
    {"lower": leaf, "lower_port": f"Ethernet{33 + s}", "upper": spine, "upper_port": f"Ethernet{8 * number}", "gbit_s": 200.0}
    for number, leaf in enumerate(LEAVES) for s, spine in enumerate(SPINES)
]  # fmt: skip
OWN = [
    {"port": "Ethernet0", "peer": "leaf01", "peer_port": "Ethernet34", "peer_role": "leaf", "gbit_s": 200.0},
    {"port": "Ethernet8", "peer": "leaf02", "peer_port": "Ethernet34", "peer_role": "leaf", "gbit_s": 200.0},
]
SECONDS, LINK, PRIORITY = 10, 400.0, 3
ENDS = {"leaf01": [("gpu01", "mlx5_0"), ("gpu02", "mlx5_0")], "leaf02": [("gpu03", "mlx5_1"), ("gpu04", "mlx5_1")]}
# What a port of 200 Gb/s sends in a round.
FULL = int(SECONDS * 200 * 1e9 / 8)


def downlinks(offered: float = 3.0, flows: int = 1024) -> Rows:
    """What the spine's ports face: leaf01 in round 3, leaf02 in round 4."""
    of_round = {"across": True, "role": "downlink", "device": None, "flows": flows, "seconds": SECONDS, "share": None}
    return [
        {**of_round, "round": 3 + number, "port": cable["port"], "peer": cable["peer"], "offered": offered, "beside": ENDS[cable["peer"]]}
        for number, cable in enumerate(OWN)
    ]  # fmt: skip


def rates(gbit_s: float = 285.0) -> tuple[dict[str, Rows], dict[str, Rows]]:
    """Jobs and rates of one sender to each receiver."""
    jobs: dict[str, Rows] = {}
    result: dict[str, Rows] = {}
    for number, ends in enumerate(ENDS.values()):
        for host, device in ends:
            item = f"to {host}"
            row = {"kind": "incast across groups", "role": "client", "item": item, "device": "mlx5_5", "peer": host, "peer_device": device, "round": 3 + number}
            jobs.setdefault("gpu09", []).append({**row, "status": "ok", "words": None, "error": None})
            result.setdefault("gpu09", []).append({"item": item, "gbit_s": gbit_s})
    return jobs, result


def counted(column: str, *counts: int | None) -> Rows:
    return [{"port": f"Ethernet{8 * place}", "queue": None, column: count} for place, count in enumerate(counts)]


def pauses(count: int) -> Rows:
    return [{"port": "Ethernet0", "priority": PRIORITY, "tx_frames": count, "rx_frames": 0}]


def others(*counts: int) -> tuple[dict[str, Rows], dict[str, Rows]]:
    """What other spines have marked before and after."""
    names = [f"spine{number:02}" for number, _count in enumerate(counts, 3)]
    return {name: counted("marked_packets", 0, 0) for name in names}, {name: counted("marked_packets", 0, one) for name, one in zip(names, counts)}


def marks(*now: int | None, sent: tuple[int, ...] = (FULL, FULL), gbit_s: float = 285.0, paused: int = 0, **values: t.Any) -> list[tuple[str, str | None]]:
    was = [None if one is None else 0 for one in now]
    given = {"pod_role": "spine", "pod_incasts": downlinks(), "pauses_of": pauses(paused), "others": (), "cables": CABLES, **values}
    found = spines.spine_marks(
        counted("marked_packets", *was), counted("marked_packets", *now), counted("tx_bytes", 0, 0), counted("tx_bytes", *sent), *rates(gbit_s),
        given["pod_incasts"], "", OWN, given["cables"], given["pod_role"], PRIORITY, LINK, 1.5, ["spine03", "spine04", "spine05"], *others(*given["others"]),
        pauses(0), given["pauses_of"],
    )  # fmt: skip
    return [(str(one), one.severity) for one in found]


def test_a_spine_that_marks_at_all_its_filled_ports_passes() -> None:
    assert marks(7, 9) == []


def test_a_spine_that_never_marks_is_found_where_its_ports_were_full_or_it_paused() -> None:
    expected = "ECN: expected ECN-marked packets of the RoCE priority, got none"
    assert marks(0, 0) == [(f"{expected} on any port to a leaf, 2 of which were full", None)]
    assert marks(0, 0, gbit_s=50.0, paused=5) == [(f"{expected} on any port to a leaf, and it sent 5 pauses: pauses come before marks", None)]
    for not_full in ({"gbit_s": 50.0}, {"sent": (FULL // 4, FULL // 4)}):
        with pytest.raises(CannotTell, match="no congestion was made: its ports to leaves carried"):
            marks(0, 0, **t.cast("t.Any", not_full))


# With links of 400 Gb/s the two receivers take less than the three uplinks carry, so that a spine need not be full.
EQUAL = [{**cable, "gbit_s": 400.0} for cable in CABLES]


def test_a_spine_that_need_not_be_full_is_compared_with_others() -> None:
    words = "ECN: expected ECN-marked packets of the RoCE priority, got none on any port to a leaf; 900 on the median one of 3 other spines under the same load"
    assert marks(0, 0, cables=EQUAL, others=(900, 0, 1200)) == [(words, None)]
    for more in ({"others": (0, 0, 900)}, {"others": ()}, {"others": (900, 900, 900), "sent": (FULL // 4, FULL // 4)}):
        with pytest.raises(NotApplicable, match="no spine marked or paused"):
            marks(0, 0, cables=EQUAL, **t.cast("t.Any", more))
    # Pauses that a leaf sent to it are passed on, and are no pauses of its own.
    paused = [{"port": "Ethernet0", "priority": PRIORITY, "tx_frames": 5, "rx_frames": 9}]
    with pytest.raises(NotApplicable):
        marks(0, 0, cables=EQUAL, pauses_of=paused)


def test_one_port_that_does_not_mark_is_named() -> None:
    words = "Ethernet8 to leaf02: expected ECN-marked packets, as at its other ports, got none at 100 % of its link"
    assert marks(9, 0) == [(words, None)]
    # A port that was not full had nothing to mark.
    assert marks(9, 0, sent=(FULL, FULL // 4)) == []


def test_marks_and_bytes_that_are_not_reported_are_no_pass() -> None:
    assert marks(9, None) == [("Ethernet8 marks: expected marked packet counter, got not reported", "unknown")]
    with pytest.raises(CannotTell, match="bytes sent by Ethernet0: not reported"):
        list(
            spines.spine_marks(
                counted("marked_packets", 0, 0),
                counted("marked_packets", 0, 0),
                [],
                [],
                *rates(),
                downlinks(),
                "",
                OWN,
                CABLES,
                "spine",
                3,
                LINK,
                1.5,
                [],
                {},
                {},
            )
        )
    with pytest.raises(CannotTell, match="no sender across gate groups reported a rate"):
        list(
            spines.spine_marks(
                counted("marked_packets", 0, 0), counted("marked_packets", 0, 0), counted("tx_bytes", 0, 0), counted("tx_bytes", FULL, FULL), {}, {},
                downlinks(), "", OWN, CABLES, "spine", 3, LINK, 1.5, [], {}, {},
            )
        )  # fmt: skip
    for values, words in (({"pod_role": "leaf"}, "only a spine"), ({"pod_incasts": downlinks(0.0)}, "no incast across gate groups fills")):
        with pytest.raises(NotApplicable, match=words):
            marks(0, 0, **values)
    with pytest.raises(NotApplicable, match="does not count marks"):
        marks(None, None)
    with pytest.raises(CannotTell, match="nothing is reported"):
        marks()
    with pytest.raises(CannotTell, match="no incast is planned"):
        marks(0, 0, pod_incasts=[])


def sent(of_leaves: dict[str, tuple[int, ...]], of_spines: dict[str, tuple[int, ...]]) -> dict[str, Rows]:
    """Bytes of all switches, in GB: of each leaf to the three spines, of each spine to the two leaves."""
    rows = {
        leaf: [{"port": f"Ethernet{33 + place}", "queue": None, "tx_bytes": int(one * 1e9)} for place, one in enumerate(its)] for leaf, its in of_leaves.items()
    }
    return rows | {spine: counted("tx_bytes", *(int(one * 1e9) for one in its)) for spine, its in of_spines.items()}


EVEN = sent(dict.fromkeys(LEAVES, (100, 100, 100)), dict.fromkeys(SPINES, (100, 100)))


def balanced(now: dict[str, Rows], node: str = "spine02", incasts: Rows | None = None, cables: Rows = CABLES) -> list[tuple[str, str | None]]:
    was = {name: [{**row, "tx_bytes": 0} for row in rows] for name, rows in now.items()}
    peers = ({name: rows for name, rows in of_time.items() if name != node} for of_time in (was, now))
    found = spines.spines_balanced(
        was[node], now[node], *peers, downlinks() if incasts is None else incasts, "", cables, node, "spine", LINK, 1.2
    )  # fmt: skip
    return [(str(one), one.severity) for one in found]


def test_even_spines_pass() -> None:
    assert balanced(EVEN) == []


def test_a_port_of_a_spine_that_carries_nothing_is_named() -> None:
    now = EVEN | sent({}, {"spine02": (100, 0), "spine01": (100, 150), "spine03": (100, 150)})
    assert balanced(now) == [("Ethernet8 to leaf02: expected about 100 GB sent, as by all spines, got 0 GB: the port is not used", None)]
    assert balanced(now, "spine01") == balanced(now, "spine03") == []


def test_a_spine_that_leaves_avoid_is_named_and_no_other() -> None:
    now = EVEN | sent(dict.fromkeys(LEAVES, (130, 40, 130)), {})
    assert [(words.partition(":")[0], severity) for words, severity in balanced(now)] == [("traffic of leaves", "warn")]
    assert balanced(now, "spine01") == balanced(now, "spine03") == []
    unused = EVEN | sent(dict.fromkeys(LEAVES, (150, 0, 150)), {"spine01": (150, 150), "spine02": (0, 0), "spine03": (150, 150)})
    assert [(words.endswith("no leaf uses it"), severity) for words, severity in balanced(unused)] == [(True, None)]
    # One leaf alone that spreads badly is that leaf's finding.
    polarised = {**EVEN, **sent({"leaf01": (300, 0, 0)}, {})}
    of_three = [*CABLES, *({**cable, "lower": "leaf03"} for cable in CABLES if cable["lower"] == "leaf01")]
    assert balanced({**polarised, "leaf03": EVEN["leaf01"]}, cables=of_three) == []


def test_a_spine_that_most_leaves_prefer_is_named_where_it_can_be_reported() -> None:
    now = EVEN | sent(dict.fromkeys(LEAVES, (100, 200, 100)), {})
    assert [severity for _words, severity in balanced(now)] == ["warn"]
    two = [cable for cable in CABLES if cable["upper"] != "spine03"]
    assert balanced(now, cables=two) == []
    assert [severity for _words, severity in balanced(now, "spine01", cables=two)] == ["warn"]


def test_what_spines_and_leaves_do_not_report_is_unknown() -> None:
    lacking = {**EVEN, "spine02": counted("tx_bytes", 10**11)}
    assert balanced(lacking) == [("Ethernet8 to leaf02: expected bytes sent by it and by another spine, got not reported", "unknown")]
    alone = {name: rows for name, rows in EVEN.items() if name not in ("spine01", "spine03")}
    assert {severity for _words, severity in balanced(alone)} == {"unknown"}
    with pytest.raises(CannotTell, match="not reported by two leaves"):
        balanced({name: rows for name, rows in EVEN.items() if name not in LEAVES})
    with pytest.raises(NotApplicable):
        balanced(EVEN, incasts=downlinks(flows=0))


def receivers(round_of: int = 3) -> Rows:
    """What the ports of leaf01 face: two receivers, each with 300 Gb/s of the uplinks' 600."""
    row = {"round": round_of, "across": True, "role": "receiver", "seconds": SECONDS, "share": 300.0}
    return [{**row, "port": f"Ethernet{place}", "peer": host, "device": device} for place, (host, device) in enumerate(ENDS["leaf01"])]


def filled(gbit_s: float) -> list[tuple[str, str | None]]:
    return [(str(one), one.severity) for one in across.across_fills_uplinks(*rates(gbit_s), receivers(), "", 80.0)]


def test_receivers_together_get_what_their_uplinks_carry() -> None:
    assert filled(250.0) == []
    assert filled(200.0) == [("round 3: expected 480 Gb/s or more to 2 receivers together, got 400", None)]
    with pytest.raises(CannotTell, match="not reported"):
        list(across.across_fills_uplinks({}, {}, receivers(), "", 80.0))
    with pytest.raises(NotApplicable):
        list(across.across_fills_uplinks({}, {}, [{**row, "share": None} for row in receivers()], "", 80.0))


def shared(own: float | None) -> list[tuple[str, str | None]]:
    jobs, result = rates(300.0)
    result["gpu09"] = [{**row, "gbit_s": own} if row["item"] == "to gpu01" else row for row in result["gpu09"] if own is not None or row["item"] != "to gpu01"]
    planned = [{"round": 3, "across": True, "role": "receiver", "device": "mlx5_0", "beside": ENDS["leaf01"]}]
    return [(str(one), one.severity) for one in across.across_fair_share(jobs, result, planned, "", "gpu01", 50.0)]


def test_a_receiver_gets_its_part() -> None:
    assert shared(200.0) == []
    assert shared(90.0) == [("mlx5_0 in round 3: expected 97.5 Gb/s or more, as of 2 receivers at its leaf, got 90", None)]
    assert shared(None) == [("mlx5_0 in round 3: expected rates of its senders, got not reported", "unknown")]
    with pytest.raises(NotApplicable):
        list(across.across_fair_share({}, {}, [{"round": 1, "role": "sender", "device": "mlx5_0", "beside": None}], "", "gpu01", 50.0))


def test_a_test_across_groups_is_a_finding_of_the_end_that_lacks_the_tool() -> None:
    planned = [{"round": 3, "across": True, "role": "sender", "device": "mlx5_5", "peer": "gpu01", "peer_device": "mlx5_0"}]
    row = {"kind": "incast across groups", "item": "a", "round": 3, "status": "unknown"}
    client = {**row, "role": "client", "device": "mlx5_5", "peer": "gpu01", "peer_device": "mlx5_0", "words": "Couldn't connect", "error": None}
    server = {**row, "role": "server", "device": "mlx5_0", "peer": "gpu09", "peer_device": "mlx5_5", "words": "not found", "error": "not_installed"}
    assert list(load.incasts_ran([client], {"gpu01": [server]}, planned, "", "gpu09")) == []
    assert [one.severity for one in load.incasts_ran([server], {"gpu09": [client]}, planned, "", "gpu01")] == ["unknown"]
    both = [one.severity for one in load.incasts_ran([client], {"gpu01": [{**server, "error": None}]}, planned, "", "gpu09")]
    assert both == ["unknown"], "where no end says why, it is not known at either"
    inside, one_group = [{**one, "kind": "incast"} for one in (client, server)], [{**planned[0], "across": False}]
    found = load.incasts_ran(inside[:1], {"gpu01": inside[1:]}, one_group, "", "gpu09")
    assert [one.actual for one in found] == ["gpu01 lacks the program of the test"]
    assert [one.actual for one in load.incasts_ran([], {}, planned, "", "gpu09")] == ["not started"]
