# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``report.xml``: the report as JUnit, a suite a layer and a case a verdict."""

from __future__ import annotations

import re
import typing as t
from xml.etree import ElementTree as ET

from ..evaluate.verdicts import VerdictRecord
from ..run.documents import Report
from ..run.provenance import origin_lines
from ..text.control_characters import SHOWN, printable
from ..text.folded_reasons import fold_reasons
from .conditions import conditions_in_words, proved_in_words
from .documentation import CheckLinks
from .measured import in_words

MOST = 12
# What XML 1.0 cannot hold, escaped or not.
ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def clean(text: t.Any) -> str:
    """Text without what XML cannot have."""
    return ILLEGAL.sub(SHOWN, printable(text))


def render_junit(report: Report, links: CheckLinks | None = None) -> str:
    """The report as JUnit XML; unknown is an error, fail a failure, and a gate that was not reached an error.

    links: where checks are documented, a property of each case that is not passed.
    """
    suites = ET.Element("testsuites", name=clean(report["pod"]))
    headline = f"{report['verdict'].upper().replace('_', ' ')}: pod {report['pod']}, {proved_in_words(report)}"
    suite = verdict_suite(suites, headline, report["verdict"], report["reasons"], report["stands_on"])
    properties = ET.Element("properties")
    for line in origin_lines(report):
        ET.SubElement(properties, "property", name="run", value=clean(line))
    for check, own in report.get("measured", {}).items():
        ET.SubElement(properties, "property", name=check, value=clean(in_words(own)))
    suite.insert(0, properties)
    for layer in report["layers"]:
        if not layer["asked"]:
            continue
        suite = ET.SubElement(suites, "testsuite", name=layer["layer"])
        for record in report["verdicts"]:
            if record["layer"] == layer["layer"]:
                _case(suite, record, links)
        for group, gate in layer["groups"].items():
            case = ET.SubElement(suite, "testcase", classname=layer["layer"], name=clean(f"gate of {group}"))
            if gate["gate"] not in ("open", "out_of_scope"):
                ET.SubElement(case, "error", message=clean(f"{gate['gate']}: {'; '.join(gate['reasons'][:5])}"))
    return text_of(suites)


def verdict_suite(suites: ET.Element, headline: str, verdict: str, reasons: t.Sequence[str], stands_on: t.Sequence[str]) -> ET.Element:
    """The suite of a verdict, with one case: headline, reasons and conditions are the message of its failure for a no-go, else its output."""
    suite = ET.SubElement(suites, "testsuite", name="verdict")
    case = ET.SubElement(suite, "testcase", classname="verdict", name="verdict of the pod")
    because = (f"because {reason}" for reason in fold_reasons(reasons)[:MOST])
    words = "\n".join(clean(line) for line in (headline, *because, *conditions_in_words(stands_on)))
    if verdict == "no_go":
        ET.SubElement(case, "failure", message=words)
    else:
        ET.SubElement(case, "system-out").text = words
    return suite


def text_of(suites: ET.Element) -> str:
    """The document, each suite with its counts."""
    for suite in suites:
        cases = suite.findall("testcase")
        kinds = {kind: sum(case.find(kind) is not None for case in cases) for kind in ("failure", "error", "skipped")}
        suite.attrib.update(tests=str(len(cases)), failures=str(kinds["failure"]), errors=str(kinds["error"]), skipped=str(kinds["skipped"]))
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def _case(suite: ET.Element, record: VerdictRecord, links: CheckLinks | None) -> None:
    case = ET.SubElement(suite, "testcase", classname=record["layer"], name=clean(f"{record['check']} {record['host'] or record['group']}"))
    kind = {"fail": "failure", "unknown": "error", "skip": "skipped"}.get(record["verdict"])
    if links and record["verdict"] in ("fail", "unknown", "warn"):
        ET.SubElement(ET.SubElement(case, "properties"), "property", name="documentation", value=links.of(record["check"]))
    words = "; ".join(f"{one['where']}: expected {one['expected']}, got {one['actual']}" for one in record["findings"]) or record["words"]
    if kind is not None:
        ET.SubElement(case, kind, message=clean(words))
    elif record["verdict"] == "warn":
        ET.SubElement(case, "system-out").text = clean(f"warning: {words}")
