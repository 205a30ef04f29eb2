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

from ..checks.every import REGISTRY
from ..measures import measures, numbers, outliers
from ..places import Places
from ..plan import Plan
from . import charts, checklist, evidence, folding, topology
from .clean import clean
from .kept import Kept

Document = dict[str, t.Any]
PAGE = Path(__file__).with_name("page")
# What a mail, a ticket and a browser take without complaint.
MOST_BYTES = 15_000_000
MOST_ENTRIES = 200
MOST_ODD = 50


def render(report: Document, plan: Plan, run: Path) -> str:
    """The report of a run, with the evidence and the rows that its directory keeps."""
    kept = Kept(run, plan)
    data = {**verdicts(report), "groups": {group: list(hosts) for group, hosts in plan.groups.items()}}
    data |= {"charts": charts.draw(kept), "topology": topology.topology(report, plan), "run": report["run_id"]}
    body = page(report, checklist.checklist(report, plan, kept), odd(kept), embedded(clean(data)))
    wanted = {(record["layer"], host) for record in report["verdicts"] if record["verdict"] not in ("pass", "skip") for host in _hosts(record)}
    packed = evidence.chunks(kept, wanted, MOST_BYTES - len(body.encode("utf-8")) - 200_000)
    index = [[one.layer, one.reading, one.nodes, one.packed is not None] for one in packed]
    texts = "".join(f'<script type="text/plain" id="evidence-{number}">{one.packed}</script>\n' for number, one in enumerate(packed) if one.packed)
    return body.replace("<!-- evidence -->", f'<script type="application/json" id="evidence">{embedded(clean(index))}</script>\n{texts}', 1)


def embedded(value: t.Any) -> str:
    """JSON that is safe inside a script element."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _hosts(record: Document) -> t.Iterator[str]:
    yield from [record["host"]] if record["host"] else {finding["host"] for finding in record["findings"] if finding["host"]}


def verdicts(report: Document) -> Document:
    """Every verdict in few bytes: checks and names once, a verdict as [check, host, group, verdict, words, findings, waived]."""
    checks: dict[tuple[str, str], int] = {}
    said: list[Document] = []
    rows = []
    for record in report["verdicts"]:
        key = (record["layer"], record["check"])
        if key not in checks:
            checks[key] = len(said)
            known = REGISTRY.get(key[0], {}).get(key[1])
            reads = sorted(known.reads) if known else []
            names = ("layer", "check", "statement", "cause", "fix", "remedy")
            said.append({**{name: record.get(name) for name in names}, "reads": reads, "required": bool(record.get("required"))})
        findings = [[one["where"], one["expected"], one["actual"], one["severity"], one["host"]] for one in record["findings"]]
        waived = [[one["host"], one["finding"], one["reason"], one["until"]] for one in record["waived"]]
        rows.append([checks[key], record["host"], record["group"], record["verdict"], record["words"], findings or 0, waived or 0])
    return {"checks": said, "verdicts": rows}


@functools.cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(PAGE), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["said"] = lambda value: clean(str(value))
    return environment.get_template("page.html.j2")


@functools.cache
def _asset(name: str) -> tuple[str, str]:
    """A script or style of the page, and its hash for the page's policy."""
    text = (PAGE / name).read_text(encoding="utf-8")
    return text, "'sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii") + "'"


def odd(kept: Kept) -> list[dict[str, t.Any]]:
    """The numbers that stand out of their kind, in words; they are no verdict, but where a person should look."""
    told = kept.told({measure.reading for measure in measures().values()})
    places = Places(kept.plan)
    found = outliers(number for layer, nodes in told.items() for number in numbers(places, layer, nodes))
    return [
        {
            "what": one.number.measure.replace("_", " "),
            "where": one.number.place,
            "value": one.number.value,
            "median": float(f"{one.median:.4g}"),
            "unit": measures()[one.number.measure].unit,
        }
        for one in found[:MOST_ODD]
    ]


def page(report: Document, rows: list[checklist.Row], outlying: list[dict[str, t.Any]], data: str) -> str:
    """The page without its evidence."""
    scripts = [_asset(name) for name in ("echarts.min.js", "charts.js", "page.js")]
    style = _asset("page.css")
    policy = f"default-src 'none'; script-src {' '.join(digest for _text, digest in scripts)}; style-src {style[1]}; img-src data:"
    found, warned = folding.entries(report), folding.entries(report, ("warn",))
    return _template().render(
        report=report,
        layers=list(reversed(report["layers"])),
        rows=rows,
        odd=outlying,
        findings=found[:MOST_ENTRIES],
        more_findings=len(found) - MOST_ENTRIES,
        warnings=warned[:MOST_ENTRIES],
        waived=[(record, one) for record in report["verdicts"] for one in record["waived"]],
        policy=policy,
        style=style[0],
        scripts=[text for text, _digest in scripts],
        data=data,
    )
