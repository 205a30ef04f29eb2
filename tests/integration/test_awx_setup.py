# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""awx_setup.yml against a server that keeps what it is given and refuses what AWX would refuse."""

from __future__ import annotations

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
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.expectations import DEFAULTS, SPECIFIED, of_type
from ansible_collections.gpufabric.pyramid.tests.labs.awx import fields
from ansible_collections.gpufabric.pyramid.tests.labs.awx.server import Awx

pytestmark = pytest.mark.xdist_group("awx_setup")

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "not-to-be-seen"
VARIABLES = {"awx_pod": "mypod", "awx_notification_url": "https://hooks.example.com/pods"}


@dataclass
class SetUp:
    """A server that was set up twice: what each run printed, and what changed in it."""

    awx: Awx
    outputs: list[str]
    changes: list[list[tuple[str, str, dict[str, t.Any]]]]


def play(awx: Awx, **variables: t.Any) -> subprocess.CompletedProcess[str]:
    """Run the set-up."""
    environment = {**os.environ, "CONTROLLER_HOST": awx.url, "CONTROLLER_OAUTH_TOKEN": TOKEN, "ANSIBLE_NOCOLOR": "1"}
    command = [str(Path(sys.executable).with_name("ansible-playbook")), "playbooks/awx_setup.yml", "-i", "localhost,", "-vvv"]
    extra = ["-e", json.dumps({**VARIABLES, **variables})]
    return subprocess.run([*command, *extra], cwd=ROOT, env=environment, text=True, capture_output=True, timeout=400, check=False)


@pytest.fixture(scope="session")
def set_up() -> t.Iterator[SetUp]:
    awx = Awx()
    done = SetUp(awx, [], [])
    for _time in range(2):
        before = len(awx.changes)
        said = play(awx)
        assert said.returncode == 0, said.stdout[-3000:] + said.stderr
        done.outputs.append(said.stdout + said.stderr)
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
        "inventory_sources": ["mypod"], "notification_templates": ["GPU fabric"], "credential_types": ["GPU fabric hosts", "GPU fabric switches"],
        "job_templates": ["mypod: remediate", "mypod: validate, go-live", "mypod: validate, quick", "mypod: validate, standard"],
        "schedules": ["mypod: validate, nightly"], "workflow_job_templates": ["mypod: validate and remediate"],
        "workflow_approval_templates": ["mypod: validate again after the remediation"],
    }  # fmt: skip


def test_a_second_run_changes_nothing(set_up: SetUp) -> None:
    assert re.search(r"changed=12 ", set_up.outputs[0]) and "nothing changed, failed or was unreachable" in set_up.outputs[1]
    # The module of inventories sends null where AWX keeps an empty word, each time; nothing comes of it.
    assert [(method, path) for method, path, _body in set_up.changes[1]] == [
        ("PATCH", f"/api/v2/inventories/{set_up.awx.named('inventories', 'mypod')['id']}/")
    ]


def test_the_workflow_goes_from_a_no_go_to_the_remedy_and_back(set_up: SetUp) -> None:
    awx = set_up.awx
    nodes = {one["identifier"]: number for number, one in awx.objects["workflow_job_template_nodes"].items()}
    edges = {(name, edge, other) for (collection, number, edge), others in awx.linked.items() if collection == "workflow_job_template_nodes"
             for other in others for name in nodes if nodes[name] == number}  # fmt: skip
    assert edges == {
        ("validate", "failure_nodes", nodes["remediate"]),
        ("remediate", "success_nodes", nodes["approve"]),
        ("approve", "success_nodes", nodes["validate again"]),
    }


def test_templates_start_playbooks_that_exist_unsliced_and_tell_the_hook(set_up: SetUp) -> None:
    for number, template in set_up.awx.objects["job_templates"].items():
        assert (ROOT / template["playbook"]).is_file() and template["job_slice_count"] == 1 and template["ask_limit_on_launch"] is True
        variables = json.loads(template["extra_vars"])
        assert variables["pod_name"] == "mypod" and variables["pod_runs_dir"].startswith("/")
        assert all(name in SPECIFIED and of_type(SPECIFIED[name], value) is not None for name, value in variables.items())
        for when in ("success", "error"):
            assert set_up.awx.linked["job_templates", number, f"notification_templates_{when}"]


def test_surveys_ask_what_the_pod_specifies(set_up: SetUp) -> None:
    for number, survey in set_up.awx.surveys.items():
        assert set_up.awx.objects["job_templates"][number]["survey_enabled"] is True
        for question in survey["spec"]:
            name = question["variable"]
            if name in ("remediate_hosts", "pod_name"):
                continue
            specification = SPECIFIED[name]
            assert of_type(specification, question["default"]) == DEFAULTS[name]
            answers = question.get("choices") or [question["min"], question["max"]]
            if question["type"] == "multiplechoice" and specification.choices:
                assert set(answers) == set(specification.choices)
            elif question["type"] != "textarea":
                assert all(of_type(specification, one) is not None for one in answers)


def test_no_secret_is_said(set_up: SetUp) -> None:
    assert all(TOKEN not in output for output in set_up.outputs)
    assert TOKEN not in json.dumps([body for _method, _path, body in set_up.awx.requests])
    for name in ("GPU fabric hosts", "GPU fabric switches"):
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
        said = play(awx, awx_organization="")
        assert said.returncode != 0 and awx.refused
    finally:
        awx.end()


def test_the_schedule_and_the_arguments_are_documented() -> None:
    specified = yaml.safe_load((ROOT / "roles/awx/meta/argument_specs.yml").read_text())["argument_specs"]["main"]["options"]
    assert set(specified) == set(yaml.safe_load((ROOT / "roles/awx/defaults/main.yml").read_text()))
