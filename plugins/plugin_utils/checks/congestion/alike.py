# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer 3, congestion: whether switches of one role have the same settings of the RoCE class."""

from __future__ import annotations

import typing as t
from collections import Counter

from ...readings.rows import Peers, Rows
from .. import Finding, NotApplicable, check
from ..place import Place

# Settings of one switch in words, by what they are of and their name; None where it does not report one that it has.
# Evaluated when it is imported, which before Python 3.10 cannot be `|`.
Settings = dict[tuple[str, str], t.Optional[str]]  # noqa: UP045
NOT_SET = "not set"
# More differences than this, of one map or profile, are one finding.
MOST = 3
ECN_COLUMNS = {"min_bytes": "minimum threshold", "max_bytes": "maximum threshold", "probability_percent": "marking probability"}


@check(
    cause="The switch is configured differently from the others of its role, or a change has not reached it (or has reached it alone): "
    "flows through it are marked, paused or queued differently, so that they lose or gain against the others.",
    fix="Compare the QoS configuration of this switch with that of a switch of the majority, and give both the same.",
    fabric="roce",
    kind="switch",
    severity="warn",
)
def class_settings_alike(
    ecn_settings_of_peers: Peers, dscp_classes_of_peers: Peers, pod_node: str, pod_same_role: list[str], pod_role: str, pod_roce_dscp: int,
    ecn_settings: Rows | None = None, dscp_classes: Rows | None = None,
) -> t.Iterator[Finding]:  # fmt: skip
    """The switch has the ECN thresholds and the DSCP map of most switches of its role."""
    compared = False
    for own, of_peers, read in ((ecn_settings, ecn_settings_of_peers, _of_ecn), (dscp_classes, dscp_classes_of_peers, _of_dscp)):
        others = {node: read(of_peers[node], pod_roce_dscp) for node in pod_same_role if node in of_peers}
        if not others:
            continue
        compared = True
        if own is None:
            yield Finding(Place("DSCP map" if read is _of_dscp else "ECN thresholds"), f"as of {_named(sorted(others))}", "not reported", "unknown")
        else:
            yield from _deviations({**others, pod_node: read(own, pod_roce_dscp)}, pod_node, pod_role)
    if not compared:
        raise NotApplicable(f"no other {pod_role} of this platform reports its settings of the RoCE class")


def _of_ecn(rows: Rows, _roce_dscp: int) -> Settings:
    """Thresholds by profile; of a platform that reports them by port, those of all its ports together."""
    settings: Settings = {}
    ports: dict[str, set[str | None]] = {}
    for row in rows:
        classes = f" of traffic class {', '.join(map(str, row['traffic_classes']))}" if row["traffic_classes"] else ""
        classes += "" if row["queue"] is None else f" of queue {row['queue']}"
        for column, name in ECN_COLUMNS.items():
            words = None if row[column] is None else f"{row[column]:g} %" if column == "probability_percent" else f"{row[column]:.0f} bytes"
            if row["port"] is None:
                settings[(f"ECN profile {row['profile']}{classes}", name)] = words
            else:
                ports.setdefault(f"{name}{classes}", set()).add(words)
    for name, values in ports.items():
        settings[("ECN of ports", name)] = None if None in values else " and ".join(sorted(str(one) for one in values))
    return settings


def _of_dscp(rows: Rows, roce_dscp: int) -> Settings:
    """The traffic class of every DSCP but that of RoCE, which dscp_agrees evaluates; by map, or of all ports together."""
    classes: dict[tuple[str, str], set[int]] = {}
    for row in rows:
        for dscp in set(row["dscp"]) - {roce_dscp}:
            classes.setdefault((f"DSCP map {row['map']}" if row["port"] is None else "DSCP maps of ports", f"DSCP {dscp}"), set()).add(row["traffic_class"])
    return {key: "traffic class " + " and ".join(map(str, sorted(values))) for key, values in classes.items()}


def _deviations(of_switches: t.Mapping[str, Settings], node: str, role: str) -> t.Iterator[Finding]:
    """Where a switch differs from most switches of its role, itself included."""
    apart: dict[str, list[tuple[str, Finding]]] = {}
    for key in sorted({key for settings in of_switches.values() for key in settings}):
        values = {name: settings.get(key, NOT_SET) for name, settings in of_switches.items()}
        reported = {name: value for name, value in values.items() if value is not None}
        of, name = key
        if len(reported) == 1 or (values[node] is None and reported):
            yield Finding(Place(f"{of}, {name}"), f"a value, as of the other {role} switches", f"reported by {_named(sorted(reported))} only", "unknown")
        elif values[node] is not None:
            usual, count = Counter(reported.values()).most_common(1)[0]
            if values[node] != usual or 2 * count <= len(reported):
                expected = f"{usual}, as of {count} of {len(reported)} {role} switches" if 2 * count > len(reported) else _split(reported, node)
                apart.setdefault(of, []).append((name, Finding(Place(f"{of}, {name}"), expected, str(values[node]))))
    for of, findings in apart.items():
        yield from [one for _name, one in findings] if len(findings) <= MOST else [_together(of, findings, role)]


def _split(reported: t.Mapping[str, str], node: str) -> str:
    """Where no value is that of most switches: which other ones there are, and where."""
    return "one value for all, of " + ", ".join(f"{value} ({name})" for name, value in sorted(reported.items()) if value != reported[node])


def _together(of: str, findings: t.Sequence[tuple[str, Finding]], role: str) -> Finding:
    """Many deviations of one map or profile as one finding."""
    shown = ", ".join(f"{name}: {one.actual}" for name, one in findings[:MOST])
    return Finding(Place(of), f"as of most {role} switches", f"{len(findings)} values differ ({shown}, ...)")


def _named(names: t.Sequence[str]) -> str:
    return ", ".join(names[:MOST]) + (f" and {len(names) - MOST} more" if len(names) > MOST else "")
