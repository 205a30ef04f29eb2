# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is computed once for all nodes: kept for the same mapping, and computed again for another one that is equal."""

from __future__ import annotations

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks._once import once_for_all_nodes


def test_the_same_mapping_is_computed_once_and_another_again():
    given = []

    @once_for_all_nodes
    def nodes(of_peers):
        given.append(of_peers)
        return sorted(of_peers)

    first, equal = {"gpu01": [], "gpu02": []}, {"gpu01": [], "gpu02": []}
    assert nodes(first) == nodes(first) == ["gpu01", "gpu02"] and len(given) == 1
    assert nodes(equal) == ["gpu01", "gpu02"] and given[1] is equal
    assert nodes(first) == ["gpu01", "gpu02"] and len(given) == 3


def test_several_mappings_are_computed_again_where_one_of_them_is_another():
    given = []

    @once_for_all_nodes
    def nodes(jobs, rates):
        given.append((jobs, rates))
        return sorted({*jobs, *rates})

    jobs, rates, others = {"gpu01": []}, {"gpu02": []}, {"gpu03": []}
    assert nodes(jobs, rates) == nodes(jobs, rates) == ["gpu01", "gpu02"] and len(given) == 1
    assert nodes(jobs, others) == ["gpu01", "gpu03"] and nodes(others, rates) == ["gpu02", "gpu03"] and len(given) == 3
