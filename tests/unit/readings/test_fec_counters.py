# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an Arista port with several PHYs reported of its codewords."""

from __future__ import annotations

import json
import typing as t

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.queries import queries_for
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import parse


def phy(location: str, corrected: int, uncorrected: int, **more: t.Any) -> dict[str, t.Any]:
    return {"description": {"location": location}, "fec": {"correctedCodewords": {"value": corrected}, "uncorrectedCodewords": {"value": uncorrected}}, **more}


def test_no_phy_hides_what_another_one_lost() -> None:
    phys = {
        "Ethernet1/1": [phy("line", 3, 0, preFecBer={"value": 1e-12}), {"description": {}}, phy("system", 0, 7), phy("line", 1, 2, preFecBer={"value": 1e-9})],
        "Ethernet1/2": [phy("line", 0, 0)],
        "Ethernet1/3": [{"description": {}}],
    }
    text = json.dumps({"interfacePhyStatuses": {port: {"phyStatuses": its} for port, its in phys.items()}})
    found = [(row["port"], row["corrected"], row["uncorrectable"], row["pre_fec_ber"]) for row in parse("fec_counters", "eos", text)]
    # A port without FEC has no row.
    assert found == [("Ethernet1/1", 4, 9, 1e-9), ("Ethernet1/2", 0, 0, None)]


def test_a_cumulus_switch_without_the_command_lacks_the_reading() -> None:
    node = {"platform": "cumulus", "items": {"port": [{"port": "swp1"}]}}
    asked, apart = queries_for(["fec_counters"], {**node, "values": {"pod_cumulus_phy_health": True}})
    assert [one.reading.name for one in asked] == ["fec_counters"] and apart == {}
    asked, apart = queries_for(["fec_counters"], {**node, "values": {"pod_cumulus_phy_health": False}})
    assert asked == [] and apart["fec_counters"].status == "not_applicable"
