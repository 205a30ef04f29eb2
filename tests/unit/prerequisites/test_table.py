# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of prerequisites: what is ready, then what is missing once, with all its nodes."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.prerequisites.table import NodeAnswer, is_ready, render_prerequisites

LLDP = {"what": "lldpctl", "why": "Debian: lldpd", "required": {"links": ["cabling_as_planned"]}, "other": {}}
ETHTOOL = {"what": "ethtool", "why": "Debian: ethtool", "required": {}, "other": {"links": ["a", "b", "c", "d", "e", "f"]}}


def answer(kind: str = "host", silent: str = "", lacks: t.Sequence[dict[str, t.Any]] = ()) -> NodeAnswer:
    return {"kind": kind, "silent": silent, "lacks": list(lacks)}


def test_a_layer_is_ready_where_no_required_check_lacks_anything() -> None:
    assert is_ready(answer(), "links") and is_ready(answer(lacks=[ETHTOOL]), "links") and is_ready(answer(lacks=[LLDP]), "routing")
    assert not is_ready(answer(lacks=[LLDP]), "links") and not is_ready(answer(silent="no route"), "training")


def test_a_switch_that_is_not_asked_is_neither_ready_nor_counted() -> None:
    assert not is_ready(answer("not_read"), "links")
    assert render_prerequisites({"leaf01": answer("not_read")}).splitlines()[1].split() == ["0", "preflight"]


def test_what_is_missing_is_printed_once_with_its_nodes_and_what_gates_need_first() -> None:
    answers = {f"gpu0{number}": answer(lacks=[ETHTOOL, LLDP] if number < 4 else [ETHTOOL]) for number in range(1, 6)}
    answers |= {"gpu06": answer(silent="no route"), "leaf01": answer("switch")}
    lines = render_prerequisites(answers).splitlines()
    assert [line.split()[1:] for line in lines[1:3]] == [["preflight", "5", "of", "6", "1", "of", "1"], ["links", "2", "of", "6", "1", "of", "1"]]
    assert lines[8:] == [
        "", "no answer of gpu06", "  no route",
        "", "missing on gpu01-gpu03: lldpctl", "  Debian: lldpd", "  links, gates stay closed: cabling_as_planned",
        "", "missing on gpu01-gpu05: ethtool", "  Debian: ethtool", "  links, not judged: a, b, c, d and 2 other checks",
    ]  # fmt: skip


def test_commands_that_a_switch_refuses_for_one_reason_are_one_entry() -> None:
    refused = [{"what": f"show {number}", "why": "% Invalid input", "required": {"links": [f"check_{number}"]}, "other": {}} for number in range(6)]
    text = render_prerequisites({"leaf01": answer("switch", lacks=refused)})
    assert "not answered by leaf01: show 0, show 1, show 2, show 3 and 2 more\n  % Invalid input\n" in text
    assert "links, gates stay closed: check_0, check_1, check_2, check_3 and 2 other checks" in text
    assert "hosts ready" in text and "0 of 1" in text
