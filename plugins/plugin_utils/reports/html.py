# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``report.html``: the report as one file that needs no network and runs nothing but its own program.

The page's policy lets run only the scripts and styles that it was written with, by their hashes: text of a device is never
markup, and could not act as such.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import typing as t
from pathlib import Path

import jinja2

from ..checks.registry import REGISTRY
from ..evaluate.metrics import metric_values, metrics, outliers
from ..evaluate.row_places import RowPlaces
from ..evaluate.verdicts import VerdictRecord
from ..pod.plan import Plan
from ..run.documents import Report
from ..run.provenance import origin_lines
from ..run.reader import RunReader
from ..text.control_characters import visible
from ..text.folded_reasons import fold_reasons
from . import charts, checklist, evidence, grouping, measured, topology
from .conditions import VERDICT_WORDS, change_in_words, conditions_in_words, proved_in_words, unused_in_words
from .documentation import CheckLinks

Document = dict[str, t.Any]
PAGE = Path(__file__).with_name("page")
# What a mail, a ticket and a browser take without complaint.
MOST_BYTES = 15_000_000
MOST_ENTRIES = 200
MOST_OUTLIERS = 50
# So many findings are read one after the other; more are a list to choose from.
MOST_UNFOLDED = 5


def shown_readings() -> set[str]:
    """The readings whose rows the page shows, or numbers of them."""
    return {chart.reading for chart in charts.charts()} | {metric.reading for metric in metrics().values()} | measured.readings()


def render_html(report: Report, plan: Plan, kept: RunReader, links: CheckLinks) -> str:
    """The report of a run, with the evidence and the rows that it keeps; links: where its checks are documented."""
    data = {**verdicts(report), "groups": {group: list(hosts) for group, hosts in plan.groups.items()}}
    data |= {"charts": charts.draw(kept), "topology": topology.topology(report, plan), "run": report["run_id"]}
    data["checks"] = [{**check, "doc": links.of(check["check"])} for check in data["checks"]]
    body = page(report, checklist.checklist(report, plan, kept), outlying_numbers(kept), embedded(visible(data)), links)
    wanted = {(record["layer"], host) for record in report["verdicts"] if record["verdict"] not in ("pass", "skip") for host in _hosts(record)}
    packed = evidence.chunks(kept, wanted, MOST_BYTES - len(body.encode("utf-8")) - 200_000)
    index = [[one.layer, one.reading, one.nodes, one.packed is not None] for one in packed]
    texts = "".join(f'<script type="text/plain" id="evidence-{number}">{one.packed}</script>\n' for number, one in enumerate(packed) if one.packed)
    return body.replace("<!-- evidence -->", f'<script type="application/json" id="evidence">{embedded(visible(index))}</script>\n{texts}', 1)


def embedded(value: t.Any) -> str:
    """JSON that is safe inside a script element."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _hosts(record: VerdictRecord) -> t.Iterator[str]:
    yield from [record["host"]] if record["host"] else {finding["host"] for finding in record["findings"] if finding["host"]}


def verdicts(report: Report) -> Document:
    """Every verdict in few bytes: checks and names once, a verdict as [check, host, group, verdict, words, findings, waived]."""
    checks: dict[tuple[str, str], int] = {}
    checks_in_page: list[Document] = []
    rows = []
    for record in report["verdicts"]:
        key = (record["layer"], record["check"])
        if key not in checks:
            checks[key] = len(checks_in_page)
            known = REGISTRY.get(key[0], {}).get(key[1])
            reads = sorted(known.reads) if known else []
            names = ("layer", "check", "statement", "cause", "fix", "remedy")
            own = {"cause": known.cause, "fix": known.fix} if known else {}
            checks_in_page.append({**{name: record.get(name) for name in names}, **own, "reads": reads, "required": bool(record.get("required"))})
        findings = [
            [*(one[name] for name in ("where", "expected", "actual", "severity", "host")), one.get("cause"), one.get("fix")] for one in record["findings"]
        ]
        waived = [[one["host"], one["finding"], one["reason"], one["until"]] for one in record["waived"]]
        rows.append([checks[key], record["host"], record["group"], record["verdict"], record["words"], findings or 0, waived or 0])
    return {"checks": checks_in_page, "verdicts": rows}


@functools.cache
def template(name: str) -> jinja2.Template:
    """A page's template; what it is given is escaped, and ``visible`` shows control characters."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(PAGE), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["visible"] = lambda value: visible(str(value))
    return environment.get_template(name)


@functools.cache
def asset(name: str) -> tuple[str, str]:
    """A script or style of the page, and its hash for the page's policy."""
    text = (PAGE / name).read_text(encoding="utf-8")
    return text, "'sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii") + "'"


def outlying_numbers(kept: RunReader) -> list[dict[str, t.Any]]:
    """The numbers that stand out of their kind, in words; they are no verdict, but where a person should look."""
    reported = kept.reported({metric.reading for metric in metrics().values()})
    places = RowPlaces(kept.plan())
    found = outliers(number for layer, nodes in reported.items() for number in metric_values(places, layer, nodes))
    return [
        {
            "what": one.number.metric.replace("_", " "),
            "where": one.number.place,
            "value": one.number.value,
            "median": float(f"{one.median:.4g}"),
            "unit": metrics()[one.number.metric].unit,
        }
        for one in found[:MOST_OUTLIERS]
    ]


def page(report: Report, rows: list[checklist.Row], outlying: list[dict[str, t.Any]], data: str, links: CheckLinks) -> str:
    """The page without its evidence."""
    scripts = [asset(name) for name in ("echarts.min.js", "charts.js", "page.js")]
    style = asset("page.css")
    policy = f"default-src 'none'; script-src {' '.join(digest for _text, digest in scripts)}; style-src {style[1]}; img-src data:"
    found, warned = grouping.entries(report), grouping.entries(report, ("warn",))
    return template("page.html.j2").render(
        report=report,
        words=VERDICT_WORDS,
        proved=proved_in_words(report),
        conditions=conditions_in_words(report["stands_on"]),
        layers=list(reversed(report["layers"])),
        reasons=fold_reasons(report["reasons"], report["layers"][0]["groups"]),
        origin=origin_lines(report),
        unused=[unused_in_words(one) for one in report["unused_waivers"]],
        changes=[change_in_words(name, one) for name, one in report["changed_expectations"].items()],
        rows=rows,
        measured={name: {**own, "change": measured.change_in_words(own)} for name, own in report.get("measured", {}).items()},
        outlying=outlying,
        findings=found[:MOST_ENTRIES],
        more_findings=len(found) - MOST_ENTRIES,
        warnings=warned[:MOST_ENTRIES],
        unfolded=len(found) <= MOST_UNFOLDED,
        link=links.of,
        waived=[(record, one) for record in report["verdicts"] for one in record["waived"]],
        policy=policy,
        style=style[0],
        scripts=[text for text, _digest in scripts],
        data=data,
    )
