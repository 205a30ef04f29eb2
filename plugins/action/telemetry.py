# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Look for a pod's telemetry: the documentation is in plugins/modules/telemetry.py."""

from __future__ import annotations

import json
import typing as t
from dataclasses import asdict
from pathlib import Path
from urllib.parse import quote, urlencode

from ansible.errors import AnsibleActionFail
from ansible.module_utils.urls import open_url
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils import opening, telemetry
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.expectations import typed
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.inventory import inventory_of
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.folding import ranges
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.reports.table import printable

TIMEOUT_SECONDS = 20
MOST_BYTES = 50_000_000


class ActionModule(ActionBase):
    """Runs once for the whole play, on the controller, and only asks."""

    BYPASS_HOST_LOOP = True
    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Ask Prometheus and Grafana, judge, print; fails unless every signal is watched everywhere."""
        result = super().run(tmp, task_vars)
        token = {"type": "str", "default": "", "no_log": True}
        _validation, given = self.validate_argument_spec({"prometheus_token": token, "grafana_token": token})
        plan, values = self._pod(task_vars or {})
        watched = _prometheus(plan, values, given["prometheus_token"])
        watched += _grafana(values, given["grafana_token"]) if values["pod_grafana_url"] else []
        bad = [one for one in watched if one.verdict != "pass"]
        text = "\n".join(_lines(watched))
        Display().display(f"\n{text}\n")
        failed = {"failed": True, "msg": f"{len(bad)} of {len(watched)} signals are not watched as they must be"} if bad else {}
        return {**result, "changed": False, "watched": [asdict(one) for one in watched], "text": text, **failed}

    def _pod(self, task_vars: dict[str, t.Any]) -> tuple[t.Any, dict[str, t.Any]]:
        inventory = inventory_of(task_vars)
        first = next(iter(opening.nodes_of(inventory)), None)
        if first is None:
            raise AnsibleActionFail("the inventory groups gpu_hosts, leaves and spines have no node")
        values, wrong = typed({key: value for key, value in inventory.variables[first].items() if key.startswith("pod_")})
        wrong += telemetry.wrong(values.get("pod_telemetry_signals", {}))
        wrong += [] if values.get("pod_prometheus_url") else ["argument 'pod_prometheus_url' must be the address of the pod's Prometheus, not ''"]
        if wrong:
            raise AnsibleActionFail("; ".join(wrong))
        cabling = Path(str(task_vars.get("inventory_dir") or self._loader.get_basedir())) / values["pod_cabling_file"]
        try:
            plan, _waivers = opening.prepare(inventory, cabling.read_text(encoding="utf-8") if cabling.is_file() else None)
        except opening.Refused as refused:
            raise AnsibleActionFail("; ".join(refused.reasons)) from None
        return plan, next(iter(plan.nodes.values())).values


def _prometheus(plan: t.Any, values: dict[str, t.Any], token: str) -> list[telemetry.Watched]:
    watched = []
    for signal in telemetry.SIGNALS:
        said = values["pod_telemetry_signals"].get(signal, {})
        found = None
        if said.get("metric"):
            base = values["pod_prometheus_url"].rstrip("/") + "/api/v1/query?"
            counted, stamped = (_asked(base + urlencode({"query": query}), token) for query in telemetry.queries(said["metric"], said.get("label", "")))
            try:
                found = telemetry.series(counted, stamped, said.get("label", ""))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise AnsibleActionFail(f"{values['pod_prometheus_url']}: {signal}: {error}") from None
        watched += telemetry.judge(plan, signal, said, found, values["pod_telemetry_fresh_seconds"])
    return watched


def _grafana(values: dict[str, t.Any], token: str) -> list[telemetry.Watched]:
    base = values["pod_grafana_url"].rstrip("/")
    queried: list[str] = []
    for found in _asked(f"{base}/api/search?type=dash-db&limit=5000", token):
        queried += telemetry.expressions(_asked(f"{base}/api/dashboards/uid/{quote(str(found.get('uid', '')), safe='')}", token).get("dashboard", {}))
    return telemetry.plotted(values["pod_telemetry_signals"], queried)


def _asked(url: str, token: str) -> t.Any:
    """The JSON behind an address; AnsibleActionFail where there is none."""
    headers = {"Accept": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
    try:
        with open_url(url, headers=headers, timeout=TIMEOUT_SECONDS, follow_redirects="none") as answer:
            return json.loads(answer.read(MOST_BYTES))
    except (OSError, ValueError) as error:
        raise AnsibleActionFail(f"{url.partition('?')[0]} cannot be asked: {error}") from None


def _lines(watched: t.Sequence[telemetry.Watched]) -> t.Iterator[str]:
    folded: dict[tuple[str, str, str, str], list[str]] = {}
    for one in watched:
        folded.setdefault((one.signal, one.verdict, one.expected, one.actual if one.verdict != "pass" else ""), []).append(one.node)
    for (signal, verdict, expected, actual), nodes in folded.items():
        where = printable(f"{verdict.upper():<8}{signal} on {ranges(nodes)}")
        yield where if verdict == "pass" else printable(f"{where}: expected {expected}, got {actual}")
