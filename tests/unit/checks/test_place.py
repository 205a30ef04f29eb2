# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a finding is: the text that is printed, the fields that decide, and who may read the text."""

from __future__ import annotations

import ast
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks import Finding
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.place import (
    Place,
    at_device,
    at_gpu,
    at_node,
    at_pci,
    at_port,
    at_rank,
    place_from_record,
)

PLUGINS = Path(__file__).parents[3] / "plugins"
# Who reads the text of a recorded finding, and for what; all others decide by the fields of its place.
READERS = {
    "plugin_utils/evaluate/verdicts.py": "makes the record, and asks waivers, which name a place as it is printed",
    "plugin_utils/evaluate/waivers.py": "a waiver's own text",
    "plugin_utils/evaluate/root_causes.py": "hands the text on with an explanation",
    "plugin_utils/history/of_node_check.py": "stores it",
    "plugin_utils/history/of_run.py": "stores it",
    "plugin_utils/remediation/findings.py": "prints it",
    "plugin_utils/reports/comparison.py": "a finding is that of the other run where it is printed alike",
    "plugin_utils/reports/conditions.py": "waivers, which name a place as it is printed",
    "plugin_utils/reports/grouping.py": "prints it",
    "plugin_utils/reports/junit.py": "prints it",
}
# Another thing of the same name.
UNRELATED = {"plugin_utils/readings/row_transforms.py": "a condition of a transform"}


@pytest.mark.parametrize(
    ("place", "text", "fields"),
    [
        (at_port("Ethernet3/1"), "Ethernet3/1", {"port": "Ethernet3/1"}),
        (at_port("Ethernet3/1", "lane 2"), "Ethernet3/1 lane 2", {"port": "Ethernet3/1", "of": "lane 2"}),
        (at_port("Ethernet3/1", "lane 2").narrowed("sent power"), "Ethernet3/1 lane 2 sent power", {"port": "Ethernet3/1", "of": "lane 2 sent power"}),
        (
            at_device("mlx5_0", "to gpu02 mlx5_0", peers=("gpu02",)).narrowed(", cuda memory"),
            "mlx5_0 to gpu02 mlx5_0, cuda memory",
            {"device": "mlx5_0", "of": "to gpu02 mlx5_0, cuda memory", "peers": ["gpu02"]},
        ),
        (at_device("mlx5_0").narrowed(", cuda memory"), "mlx5_0, cuda memory", {"device": "mlx5_0", "of": ", cuda memory"}),
        (at_gpu("0"), "GPU 0", {"gpu": 0}),
        (at_rank(8, "(GPU 0)", gpu=0), "rank 8 (GPU 0)", {"rank": 8, "of": "(GPU 0)", "gpu": 0}),
        (at_pci("0000:15:00.0"), "0000:15:00.0", {"pci": "0000:15:00.0"}),
        (at_node("leaf03"), "leaf03", {"whole": True}),
        (Place("spine01 (fe80::1)", port="swp1", peers=("spine01", "fe80::1")), "spine01 (fe80::1)", {"port": "swp1", "peers": ["spine01", "fe80::1"]}),
        (Place("kernel log"), "kernel log", {}),
    ],
)  # fmt: skip
def test_a_place_has_its_text_and_its_fields(place: Place, text: str, fields: dict[str, t.Any]) -> None:
    assert (str(place), place.record()) == (text, fields)
    assert place_from_record(text, {**place.record(), "of_a_newer_version": 1}, None, "gpu01") == place
    assert str(Finding(place, "a", "b")) == f"{text}: expected a, got b"


def test_an_interface_is_a_device_or_a_port() -> None:
    assert [one.interface for one in (at_device("mlx5_0"), at_port("ens0"), at_gpu(1), Place("ens0"))] == ["mlx5_0", "ens0", None, None]


def test_a_record_of_an_older_version_is_at_the_port_that_its_text_is() -> None:
    assert place_from_record("Ethernet1 pauses", None, "Ethernet1", "leaf01") == Place("Ethernet1 pauses", port="Ethernet1")
    assert place_from_record("Ethernet1", None, None, "leaf01") == at_port("Ethernet1")
    assert place_from_record("leaf01", None, None, "leaf01").whole


def reads_of_the_text(path: Path) -> list[tuple[ast.AST, ast.AST]]:
    """Where a file reads ``["where"]`` or ``.get("where")``, each with what is done with it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    parents = {child: parent for parent in ast.walk(tree) for child in ast.iter_child_nodes(parent)}
    found: list[tuple[ast.AST, ast.AST]] = []
    for node in ast.walk(tree):
        read = (isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == "where") or (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "get"
            and bool(node.args)
            and isinstance(node.args[0], ast.Constant)
            and node.args[0].value == "where"
        )
        if read:
            outer = parents[node]
            # ``record["where"] or ""`` and ``str(record["where"])`` are the text.
            while isinstance(outer, ast.BoolOp) or (isinstance(outer, ast.Call) and isinstance(outer.func, ast.Name) and outer.func.id == "str"):
                outer = parents[outer]
            found.append((node, outer))
    return found


def test_nothing_but_what_prints_or_stores_a_finding_reads_its_text() -> None:
    reading = {str(path.relative_to(PLUGINS)): found for path in sorted(PLUGINS.rglob("*.py")) if (found := reads_of_the_text(path))}
    assert set(reading) == set(READERS) | set(UNRELATED), "decide by the fields of the finding's place (evaluate/verdicts.py: place_of)"
    for name in READERS:
        for node, outer in reading[name]:
            taken_apart = isinstance(outer, ast.Attribute) or (
                isinstance(outer, ast.Compare) and not all(isinstance(one, (ast.Is, ast.IsNot, ast.Eq)) for one in outer.ops)
            )
            assert not taken_apart, f"{name}:{node.lineno} takes the text apart: {ast.unparse(outer)}"  # type: ignore[attr-defined]


def test_a_plain_text_is_no_place_of_a_finding() -> None:
    """Not at the end of the evaluation, where it would take the layer down, but in the check, which is then unknown."""
    with pytest.raises(TypeError, match="must be a Place, not 'Ethernet1'"):
        Finding(t.cast("Place", "Ethernet1"), "up", "down")
