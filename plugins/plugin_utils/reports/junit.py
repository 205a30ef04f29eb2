# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``report.xml``: the report as JUnit, a suite a layer and a case a verdict."""

from __future__ import annotations

import re
import typing as t
from xml.etree import ElementTree as ET

# What XML 1.0 cannot hold, escaped or not.
ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _clean(text: t.Any) -> str:
    return ILLEGAL.sub("?", str(text))


def render(report: dict[str, t.Any]) -> str:
    """The report as JUnit XML; unknown is an error, fail a failure, and a gate that was not reached an error."""
    suites = ET.Element("testsuites", name=_clean(report["pod"]))
    for layer in report["layers"]:
        if not layer["asked"]:
            continue
        suite = ET.SubElement(suites, "testsuite", name=layer["layer"])
        for record in report["verdicts"]:
            if record["layer"] == layer["layer"]:
                _case(suite, record)
        for group, gate in layer["groups"].items():
            case = ET.SubElement(suite, "testcase", classname=layer["layer"], name=_clean(f"gate of {group}"))
            if gate["gate"] not in ("open", "out_of_scope"):
                ET.SubElement(case, "error", message=_clean(f"{gate['gate']}: {'; '.join(gate['reasons'][:5])}"))
        kinds = {kind: sum(case.find(kind) is not None for case in suite) for kind in ("failure", "error", "skipped")}
        suite.attrib.update(tests=str(len(suite)), failures=str(kinds["failure"]), errors=str(kinds["error"]), skipped=str(kinds["skipped"]))
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def _case(suite: ET.Element, record: dict[str, t.Any]) -> None:
    case = ET.SubElement(suite, "testcase", classname=record["layer"], name=_clean(f"{record['check']} {record['host'] or record['group']}"))
    kind = {"fail": "failure", "unknown": "error", "skip": "skipped"}.get(record["verdict"])
    words = "; ".join(f"{one['where']}: expected {one['expected']}, got {one['actual']}" for one in record["findings"]) or record["words"]
    if kind is not None:
        ET.SubElement(case, kind, message=_clean(words))
    elif record["verdict"] == "warn":
        ET.SubElement(case, "system-out").text = _clean(f"warning: {words}")
