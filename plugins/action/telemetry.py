# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Look for a pod's telemetry: the documentation is in plugins/modules/telemetry.py."""

from __future__ import annotations

import json
import typing as t
from dataclasses import asdict
from urllib.parse import quote, urlencode

from ansible.errors import AnsibleActionFail
from ansible.module_utils.urls import open_url
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.errors import Refused
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.inventory import pod_of
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.telemetry.coverage import (
    SIGNALS,
    Watched,
    expressions,
    judge_signal,
    plotted,
    queries,
    series,
    signal_errors,
)
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.text.control_characters import printable
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.text.ranges import ranges
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.action_base import PyramidAction, RunOnce
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.console import show

TIMEOUT_SECONDS = 20
MOST_BYTES = 50_000_000


class ActionModule(RunOnce, PyramidAction):
    """Runs once for the whole play, on the controller, and only asks."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {name: {"type": "str", "default": "", "no_log": True} for name in ("prometheus_token", "grafana_token")}

    def act(self, given: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """Ask Prometheus and Grafana, judge, print; fails unless every signal is watched everywhere."""
        try:
            pod = pod_of(task_vars, self._loader.get_basedir())
        except Refused as refused:
            raise AnsibleActionFail("; ".join(refused.reasons)) from None
        wrong = signal_errors(pod.values["pod_telemetry_signals"])
        wrong += [] if pod.values["pod_prometheus_url"] else ["argument 'pod_prometheus_url' must be the address of the pod's Prometheus, not ''"]
        if wrong:
            raise AnsibleActionFail("; ".join(wrong))
        watched = _prometheus(pod.plan, pod.values, given["prometheus_token"])
        watched += _grafana(pod.values, given["grafana_token"]) if pod.values["pod_grafana_url"] else []
        bad = [one for one in watched if one.verdict != "pass"]
        text = "\n".join(_lines(watched))
        show(f"\n{text}\n")
        failed = {"failed": True, "msg": f"{len(bad)} of {len(watched)} signals do not cover every node"} if bad else {}
        return {"watched": [asdict(one) for one in watched], "text": text, **failed}


def _prometheus(plan: t.Any, values: dict[str, t.Any], token: str) -> list[Watched]:
    watched = []
    for signal in SIGNALS:
        configured = values["pod_telemetry_signals"].get(signal, {})
        found = None
        if configured.get("metric"):
            base = values["pod_prometheus_url"].rstrip("/") + "/api/v1/query?"
            counted, stamped = (_asked(base + urlencode({"query": query}), token) for query in queries(configured["metric"], configured.get("label", "")))
            try:
                found = series(counted, stamped, configured.get("label", ""))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise AnsibleActionFail(f"{values['pod_prometheus_url']}: {signal}: {error}") from None
        watched += judge_signal(plan, signal, configured, found, values["pod_telemetry_fresh_seconds"])
    return watched


def _grafana(values: dict[str, t.Any], token: str) -> list[Watched]:
    base = values["pod_grafana_url"].rstrip("/")
    queried: list[str] = []
    for found in _asked(f"{base}/api/search?type=dash-db&limit=5000", token):
        queried += expressions(_asked(f"{base}/api/dashboards/uid/{quote(str(found.get('uid', '')), safe='')}", token).get("dashboard", {}))
    return plotted(values["pod_telemetry_signals"], queried)


def _asked(url: str, token: str) -> t.Any:
    """The JSON behind an address; AnsibleActionFail where there is none."""
    headers = {"Accept": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
    try:
        with open_url(url, headers=headers, timeout=TIMEOUT_SECONDS, follow_redirects="none") as answer:
            return json.loads(answer.read(MOST_BYTES))
    except (OSError, ValueError) as error:
        raise AnsibleActionFail(f"{url.partition('?')[0]} did not respond: {error}") from None


def _lines(watched: t.Sequence[Watched]) -> t.Iterator[str]:
    folded: dict[tuple[str, str, str, str], list[str]] = {}
    for one in watched:
        folded.setdefault((one.signal, one.verdict, one.expected, one.actual if one.verdict != "pass" else ""), []).append(one.node)
    for (signal, verdict, expected, actual), nodes in folded.items():
        where = printable(f"{verdict.upper():<8}{signal} on {ranges(nodes)}")
        yield where if verdict == "pass" else printable(f"{where}: expected {expected}, got {actual}")
