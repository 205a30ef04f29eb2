# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""awx_setup.yml against a server that keeps what it is given and refuses what AWX would refuse."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
import typing as t
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.pod.expectations import DEFAULTS, SPECIFIED, of_type
from ansible_collections.gpufabric.pyramid.tests.labs.awx import fields, workflow
from ansible_collections.gpufabric.pyramid.tests.labs.awx.server import Awx
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import layout

pytestmark = [pytest.mark.exhaustive, pytest.mark.xdist_group("awx_setup")]

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "not-to-be-seen"
HOURLY = "DTSTART:20260101T003000Z RRULE:FREQ=HOURLY;INTERVAL=1"
VARIABLES = {"awx_pod": "mypod", "awx_notification_url": "https://hooks.example.com/pods", "awx_patrol_rrule": HOURLY}


@dataclass
class SetUp:
    """A server that was set up twice, with slices: what each run printed, and what changed in it."""

    awx: Awx
    outputs: list[str]
    changes: list[list[tuple[str, str, dict[str, t.Any]]]]


def play(awx: Awx, inventory: str = "localhost,", **variables: t.Any) -> subprocess.CompletedProcess[str]:
    """Run the set-up."""
    environment = {**os.environ, "CONTROLLER_HOST": awx.url, "CONTROLLER_OAUTH_TOKEN": TOKEN, "ANSIBLE_NOCOLOR": "1"}
    command = [str(Path(sys.executable).with_name("ansible-playbook")), "playbooks/awx_setup.yml", "-i", inventory, "-vvv"]
    extra = ["-e", json.dumps({**VARIABLES, **variables})]
    return subprocess.run([*command, *extra], cwd=ROOT, env=environment, text=True, capture_output=True, timeout=400, check=False)


@pytest.fixture(scope="session")
def set_up(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[SetUp]:
    expectations = {"pod_name": "mypod", "pod_to_layer": "training"}
    inventory = layout.write(tmp_path_factory.mktemp("set_up"), racks=3, hosts_per_rack=2, spines=2, expectations=expectations)
    awx = Awx()
    done = SetUp(awx, [], [])
    for _time in range(2):
        before = len(awx.changes)
        response = play(awx, str(inventory), awx_slices=3)
        assert response.returncode == 0, response.stdout[-3000:] + response.stderr
        done.outputs.append(response.stdout + response.stderr)
        done.changes.append(awx.changes[before:])
    yield done
    awx.end()


def test_everything_is_made_and_nothing_is_refused(set_up: SetUp) -> None:
    awx = set_up.awx
    assert awx.refused == []
    made = {
        name: sorted(one["name"] for one in objects.values())
        for name, objects in awx.objects.items()
        if objects and name in fields.FIELDS and "nodes" not in name
    }
    assert made == {
        "organizations": ["GPU fabric"], "execution_environments": ["GPU fabric"], "projects": ["GPU fabric"], "inventories": ["mypod"],
        "inventory_sources": ["mypod"], "notification_templates": ["GPU fabric"],
        "credential_types": ["GPU fabric hosts", "GPU fabric reports", "GPU fabric switches"],
        "job_templates": [
            "mypod: merge slices", "mypod: patrol", "mypod: plan slices", "mypod: remediate", "mypod: validate, go-live", "mypod: validate, quick",
            "mypod: validate, slice", "mypod: validate, standard",
        ],
        "schedules": ["mypod: patrol, scheduled", "mypod: validate, nightly"],
        "workflow_job_templates": ["mypod: validate and remediate", "mypod: validate in slices"],
        "workflow_approval_templates": ["mypod: validate again after the remediation"],
    }  # fmt: skip


def test_a_second_run_changes_nothing(set_up: SetUp) -> None:
    assert re.search(r"changed=18 ", set_up.outputs[0]) and "nothing changed, failed or was unreachable" in set_up.outputs[1]
    # The module of inventories sends null where AWX keeps an empty word, each time; nothing comes of it.
    assert [(method, path) for method, path, _body in set_up.changes[1]] == [
        ("PATCH", f"/api/v2/inventories/{set_up.awx.named('inventories', 'mypod')['id']}/")
    ]


def steps_of(awx: Awx, workflow: str) -> tuple[dict[str, dict[str, t.Any]], set[tuple[str, str, str]]]:
    """The steps of a workflow by their names, and which follows which, and when."""
    number = awx.named("workflow_job_templates", workflow)["id"]
    nodes = {step: one for step, one in awx.objects["workflow_job_template_nodes"].items() if one["workflow_job_template"] == number}
    edges = {
        (nodes[step]["identifier"], edge.partition("_")[0], nodes[other]["identifier"])
        for (collection, step, edge), others in awx.linked.items()
        if collection == "workflow_job_template_nodes" and step in nodes
        for other in others
    }
    return {one["identifier"]: one for one in nodes.values()}, edges


def test_the_workflow_goes_from_a_no_go_to_the_remedy_and_back(set_up: SetUp) -> None:
    assert steps_of(set_up.awx, "mypod: validate and remediate")[1] == {
        ("validate", "failure", "remediate"),
        ("remediate", "success", "approve"),
        ("approve", "success", "validate again"),
    }


def test_templates_start_playbooks_that_exist_unsliced_and_tell_the_hook(set_up: SetUp) -> None:
    for number, template in set_up.awx.objects["job_templates"].items():
        assert (ROOT / template["playbook"]).is_file() and template["job_slice_count"] == 1 and template["ask_limit_on_launch"] is True
        variables = json.loads(template["extra_vars"])
        assert template["name"] == "mypod: merge slices" or (variables["pod_name"] == "mypod" and variables["pod_runs_dir"].startswith("/"))
        own = {name: value for name, value in variables.items() if name.startswith("pod_")}
        assert all(name in SPECIFIED and of_type(SPECIFIED[name], value) is not None for name, value in own.items())
        assert own == variables or "slice" in template["name"]
        for when in ("success", "error"):
            assert set_up.awx.linked["job_templates", number, f"notification_templates_{when}"]


def test_the_workflow_asks_for_what_its_jobs_do_and_tells_of_its_end_and_of_approvals(set_up: SetUp) -> None:
    awx = set_up.awx
    found = awx.named("workflow_job_templates", "mypod: validate and remediate")
    assert found["ask_limit_on_launch"] is True and found["survey_enabled"] is True
    for when in ("success", "error", "approvals"):
        assert awx.linked["workflow_job_templates", found["id"], f"notification_templates_{when}"]
    asked = {one["variable"]: one for one in awx.surveys[found["id"]]["spec"]}
    # Its answers stand above the artifacts, and those name the hosts to repair.
    assert "pod_depth" in asked and "remediate_hosts" not in asked
    for name in ("validate, standard", "remediate"):
        survey = awx.surveys[awx.named("job_templates", f"mypod: {name}")["id"]]
        assert {one["variable"] for one in survey["spec"]} - {"remediate_hosts"} <= set(asked)
        assert fields.needed(survey, {variable: one["default"] for variable, one in asked.items()}) == []


def test_idle_hosts_are_validated_by_a_schedule(set_up: SetUp) -> None:
    awx = set_up.awx
    schedule, template = awx.named("schedules", "mypod: patrol, scheduled"), awx.named("job_templates", "mypod: patrol")
    assert (schedule["unified_job_template"], schedule["rrule"]) == (template["id"], HOURLY)
    assert schedule["extra_data"] == {"pod_name": "mypod", "pod_from_layer": "preflight", "pod_patrol_hosts": 8}
    assert template["playbook"] == "playbooks/patrol.yml" and template["allow_simultaneous"] is False
    assert awx.named("schedules", "mypod: validate, nightly")["unified_job_template"] == awx.named("job_templates", "mypod: validate, quick")["id"]


def test_jobs_and_the_inventory_are_of_the_newest_commit(set_up: SetUp) -> None:
    assert set_up.awx.named("projects", "GPU fabric")["scm_update_on_launch"] is True
    assert set_up.awx.named("inventory_sources", "mypod")["update_on_launch"] is True


def test_a_remediation_is_launched_without_an_answer_for_its_hosts(set_up: SetUp) -> None:
    awx = set_up.awx
    template = awx.named("job_templates", "mypod: remediate")["id"]
    given = {one["variable"]: one["default"] for one in awx.surveys[template]["spec"]}
    assert given["remediate_hosts"] == ""
    assert awx.answer("POST", f"/api/v2/job_templates/{template}/launch/", [], {"extra_vars": given})[0] == 201
    refused = awx.answer("POST", f"/api/v2/job_templates/{template}/launch/", [], {"extra_vars": {**given, "pod_remediate_max": 99}})
    assert refused == (400, {"variables_needed_to_start": ["'pod_remediate_max' value 99 is too large (must be no more than 16)."]})
    awx.refused.clear()


def test_a_webhook_gets_the_verdict_the_gates_and_the_report(set_up: SetUp) -> None:
    messages = set_up.awx.named("notification_templates", "GPU fabric")["messages"]
    artifacts = {
        "pyramid_verdict": "no_go", "pyramid_closed_gates": {"links": ["rack_01"]}, "pyramid_report_url": "https://reports.example.com/a/report.html",
        "pyramid_summary": 'a "quoted" line\nand {{ another }}',
    }  # fmt: skip
    for event in ("success", "error"):
        body = json.loads(fields.rendered(messages[event]["body"], {"artifacts": artifacts, "status": "failed"}))
        assert (body["pod"], body["status"], body["verdict"]) == ("Stub Inventory", "failed", "no_go")
        assert body["closed_gates"] == artifacts["pyramid_closed_gates"] and body["report_url"] == artifacts["pyramid_report_url"]
        assert body["summary"] == artifacts["pyramid_summary"]
        # A workflow has none, and a job that failed before its verdict.
        assert json.loads(fields.rendered(messages[event]["body"]))["verdict"] == ""
    for event in ("running", "approved", "timed_out", "denied"):
        assert json.loads(fields.rendered(messages["workflow_approval"][event]["body"]))["url"] == "https://towerhost/#/jobs/workflow/1010"


def test_the_server_refuses_what_awx_refused(set_up: SetUp) -> None:
    """Recorded at AWX 24.6.1: schedules without answers, steps of an approval's template, messages that it cannot render."""
    awx = set_up.awx
    quick, approval = awx.named("job_templates", "mypod: validate, quick")["id"], next(iter(awx.objects["workflow_approval_templates"]))
    schedule = {"name": "x", "unified_job_template": quick, "rrule": "DTSTART:20260101T020000Z RRULE:FREQ=DAILY;INTERVAL=1", "extra_data": {}}
    names = ("pod_name", "pod_from_layer", "pod_to_layer", "pod_gate_policy", "pod_quarantine_max", "pod_waivers")
    refused = {"variables_needed_to_start": [f"'{name}' value missing" for name in names]}
    assert awx.answer("POST", "/api/v2/schedules/", [], schedule) == (400, refused)
    assert awx.answer("POST", f"/api/v2/workflow_approval_templates/{approval}/success_nodes/", [], {"id": 1})[0] == 404
    place = f"/api/v2/notification_templates/{awx.named('notification_templates', 'GPU fabric')['id']}/"
    for messages in ({"success": {"body": "{{ nonsense.x }}"}}, {"done": {"body": "{}"}}):
        assert awx.answer("PATCH", place, [], {"messages": messages})[0] == 400
    awx.refused.clear()


def test_surveys_ask_what_the_pod_specifies(set_up: SetUp) -> None:
    for number, survey in set_up.awx.surveys.items():
        owner = next(one[number] for name in ("job_templates", "workflow_job_templates") if number in (one := set_up.awx.objects[name]))
        assert owner["survey_enabled"] is True
        for question in survey["spec"]:
            name = question["variable"]
            if name in ("remediate_hosts", "pod_name"):
                continue
            specification = SPECIFIED[name]
            assert of_type(specification, question["default"]) == DEFAULTS[name]
            answers = question.get("choices") or [question["min"], question["max"]]
            if question["type"] == "multiplechoice" and specification.choices:
                # A quick run of slices would prove nothing between them.
                left_out = {"quick"} if owner["name"] == "mypod: validate in slices" else set()
                assert set(answers) == set(specification.choices) - left_out
            elif question["type"] != "textarea":
                assert all(of_type(specification, one) is not None for one in answers)


def test_no_secret_is_reported(set_up: SetUp) -> None:
    assert all(TOKEN not in output for output in set_up.outputs)
    assert TOKEN not in json.dumps([body for _method, _path, body in set_up.awx.requests])
    for name in ("GPU fabric hosts", "GPU fabric switches", "GPU fabric reports"):
        kind = set_up.awx.named("credential_types", name)
        asked = {one["id"] for one in kind["inputs"]["fields"]}
        assert set(re.findall(r"\{\{ (\w+) \}\}", json.dumps(kind["injectors"]))) <= asked and kind["inputs"]["required"] == [
            one["id"] for one in kind["inputs"]["fields"]
        ]


def test_a_wrong_body_would_be_refused(set_up: SetUp) -> None:
    """Each body that was sent, with each of its fields made wrong: the server sees it, so that its silence means something."""
    tried = 0
    for method, path, body in set_up.changes[0]:
        collection = path.split("/")[3]
        if method != "POST" or path.count("/") != 4 or collection not in fields.FIELDS:
            continue
        assert fields.wrong(collection, body) == {}
        for name, field in fields.FIELDS[collection].items():
            if field.required:
                assert name in fields.wrong(collection, {key: value for key, value in body.items() if key != name})
            assert name in fields.wrong(collection, {**body, name: {"choice": "no such", "json": 1.5}.get(field.type, 1.5)})
            tried += 1
        assert "nonsense" in fields.wrong(collection, {**body, "nonsense": 1})
    assert tried > 100
    for survey in set_up.awx.surveys.values():
        for question in survey["spec"]:
            for key, value in (("default", "no such" if question["type"] != "text" else "x" * 2000), ("variable", None), ("minimum", 1)):
                spoilt = {**question, key: value}
                if value is None:
                    del spoilt[key]
                if question["type"] != "textarea" or key != "default":
                    assert fields.wrong_survey({**survey, "spec": [spoilt]})


def test_what_the_server_refuses_fails_the_set_up() -> None:
    awx = Awx()
    try:
        response = play(awx, awx_organization="")
        assert response.returncode != 0 and awx.refused
    finally:
        awx.end()


def test_a_pod_that_cannot_be_cut_into_slices_leaves_no_half_of_a_set_up() -> None:
    awx = Awx()
    try:
        response = play(awx, awx_slices=3)
        assert response.returncode != 0 and "run the set-up with -i inventories/mypod" in response.stdout and awx.changes == []
    finally:
        awx.end()


def test_the_schedule_and_the_arguments_are_documented() -> None:
    specified = yaml.safe_load((ROOT / "roles/awx/meta/argument_specs.yml").read_text())["argument_specs"]["main"]["options"]
    assert set(specified) == set(yaml.safe_load((ROOT / "roles/awx/defaults/main.yml").read_text()))


def test_slices_are_a_workflow_that_validates_side_by_side_then_between_them_and_merges(set_up: SetUp) -> None:
    awx = set_up.awx
    assert "slice_3: 2 hosts of rack_03" in set_up.outputs[0]
    of, edges = steps_of(awx, "mypod: validate in slices")
    slices = ["slice_1", "slice_2", "slice_3"]
    assert edges == {
        *(("plan", "success", name) for name in slices),
        *((name, "always", "seam_1") for name in slices),
        *((name, "success", "collectives") for name in (*slices, "seam_1")),
        ("collectives", "success", "training"),
        *((name, "always", "merge slices") for name in (*slices, "seam_1", "collectives", "training")),
    }
    assert of["slice_2"]["limit"] == "rack_02:leaves:spines" and of["slice_2"]["extra_data"] == {"pyramid_part": "slice_2"}
    assert of["training"]["extra_data"] == {"pyramid_part": "training", "pod_only": "training"} and not of["training"].get("limit")
    wants_all = {name: one["all_parents_must_converge"] for name, one in of.items()}
    assert wants_all == {name: name != "merge slices" for name in of}
    assert workflow.statuses(wants_all, edges, {}) == dict.fromkeys(of, "successful")
    for name, status in itertools.product(of.keys() - {"plan", "merge slices"}, ("failed", "error", "canceled")):
        ended = workflow.statuses(wants_all, edges, {name: status, "merge slices": "failed"})
        # Seen on AWX 24.6.1: a merge that is left out leaves a workflow with a failed seam successful.
        assert ended["merge slices"] == "failed" and workflow.has_failed(edges, ended), (name, status)
        assert status != "failed" or name == "training" or "training" not in ended, name
    # The layers are the inventory's, and a slice begins with the first.
    asked = {one["variable"]: one for one in awx.surveys[awx.named("workflow_job_templates", "mypod: validate in slices")["id"]]["spec"]}
    assert asked.keys().isdisjoint({"pod_from_layer", "pod_to_layer"}) and asked["pod_depth"]["choices"] == ["standard", "go_live"]
    template = awx.named("job_templates", "mypod: validate, slice")
    part = "/var/lib/pyramid/sliced/{{ awx_workflow_job_id }}/{{ pyramid_part }}"
    assert json.loads(template["extra_vars"])["pod_runs_dir"] == part and template["ask_variables_on_launch"] is True
