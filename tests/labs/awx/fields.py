# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fields of AWX's collections as it tells them on OPTIONS (24.6.1), as far as the set-up and its tests use them."""

from __future__ import annotations

import datetime
import json
import typing as t
from dataclasses import dataclass

from jinja2 import StrictUndefined, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment


@dataclass(frozen=True)
class Field:
    """One field: its type, whether it is required, its choices and what a GET returns where nobody posted it."""

    type: str = "string"
    required: bool = False
    choices: tuple[t.Any, ...] = ()
    default: t.Any = ""


NAME = Field(required=True)
TEXT, FLAG, KEY = Field(), Field("boolean", default=False), Field("id", default=None)
OWNER = Field("id", required=True, default=None)
JSON = Field("json", default="")
ASKED = (
    "scm_branch", "diff_mode", "variables", "limit", "tags", "skip_tags", "job_type", "verbosity", "inventory", "credential", "execution_environment",
    "labels", "forks", "job_slice_count", "timeout", "instance_groups",
)  # fmt: skip
COMMON = {"name": NAME, "description": TEXT}
FIELDS: dict[str, dict[str, Field]] = {
    "organizations": {**COMMON, "max_hosts": Field("integer", default=0), "default_environment": KEY},
    "execution_environments": {
        **COMMON, "organization": KEY, "image": NAME, "credential": KEY, "pull": Field("choice", choices=("", "always", "missing", "never")),
    },
    "credential_types": {
        **COMMON, "kind": Field("choice", True, ("net", "cloud")), "inputs": Field("json", default={}), "injectors": Field("json", default={}),
    },
    "projects": {
        **COMMON, "local_path": TEXT, "scm_type": Field("choice", choices=("", "git", "svn", "insights", "archive")), "scm_url": TEXT, "scm_branch": TEXT,
        "organization": KEY, "default_environment": KEY, "allow_override": FLAG, "scm_update_on_launch": FLAG, "credential": KEY,
    },
    "inventories": {
        **COMMON, "organization": OWNER, "kind": Field("choice", choices=("", "smart", "constructed")), "host_filter": Field(default=None),
        "variables": JSON,
    },
    "inventory_sources": {
        **COMMON, "inventory": OWNER, "source": Field("choice", True, ("file", "constructed", "scm", "ec2")), "source_path": TEXT, "source_project": KEY,
        "source_vars": TEXT, "overwrite": FLAG, "overwrite_vars": FLAG, "update_on_launch": FLAG, "execution_environment": KEY,
    },
    "notification_templates": {
        **COMMON, "organization": OWNER, "notification_type": Field("choice", True, ("email", "slack", "webhook")),
        "notification_configuration": Field("json", default={}), "messages": Field("json", default=None),
    },
    "job_templates": {
        **COMMON, "job_type": Field("choice", choices=("run", "check"), default="run"), "inventory": KEY, "project": KEY, "playbook": TEXT,
        "execution_environment": KEY, "limit": TEXT, "extra_vars": JSON, "survey_enabled": FLAG, "allow_simultaneous": FLAG,
        "job_slice_count": Field("integer", default=1), **{f"ask_{what}_on_launch": FLAG for what in ASKED},
    },
    "workflow_job_templates": {
        **COMMON, "organization": KEY, "inventory": KEY, "extra_vars": JSON, "limit": Field(default=None), "survey_enabled": FLAG, "allow_simultaneous": FLAG,
        **{f"ask_{what}_on_launch": FLAG for what in ("inventory", "limit", "variables", "scm_branch", "labels", "tags", "skip_tags")},
    },
    "workflow_job_template_nodes": {
        "workflow_job_template": OWNER, "unified_job_template": KEY, "identifier": TEXT, "extra_data": Field("json", default={}), "inventory": KEY,
        "limit": Field(default=None), "all_parents_must_converge": FLAG,
    },
    "schedules": {**COMMON, "rrule": NAME, "unified_job_template": OWNER, "extra_data": Field("json", default={}), "enabled": Field("boolean", default=True)},
    "workflow_approval_templates": {**COMMON, "timeout": Field("integer", default=0)},
}  # fmt: skip
NOTIFIED = tuple(f"notification_templates_{when}" for when in ("started", "success", "error"))
APPROVED = "notification_templates_approvals"
EDGES = ("success_nodes", "failure_nodes", "always_nodes")
# What can be linked to an object, as `related` names it; anything else is a 404: also the steps after an approval's own template.
LINKS: dict[str, tuple[str, ...]] = {
    "organizations": ("galaxy_credentials", "instance_groups", *NOTIFIED, APPROVED),
    "projects": NOTIFIED,
    "inventories": ("input_inventories", "instance_groups", "labels"),
    "inventory_sources": ("credentials", *NOTIFIED),
    "job_templates": ("credentials", "labels", "instance_groups", "survey_spec", "launch", *NOTIFIED),
    "workflow_job_templates": ("labels", "survey_spec", *NOTIFIED, APPROVED),
    "workflow_job_template_nodes": ("credentials", "labels", "instance_groups", "create_approval_template", *EDGES),
    "schedules": ("credentials", "labels", "instance_groups"),
}
# What the modules post and AWX takes no notice of.
IGNORED = {"credential_types": {"managed"}, "job_templates": {"organization"}, "inventory_sources": {"organization"}, "workflow_job_template_nodes": {"type"}}
TYPES: dict[str, tuple[type, ...]] = {"string": (str,), "boolean": (bool,), "integer": (int,), "id": (int,), "json": (dict, list, str)}


def wrong(collection: str, body: dict[str, t.Any], partial: bool = False) -> dict[str, list[str]]:
    """What AWX would refuse of a body, by field; partial: of a PATCH."""
    known = FIELDS[collection]
    result: dict[str, list[str]] = {}
    for name, field in known.items():
        if field.required and not partial and body.get(name) in (None, ""):
            result[name] = ["This field is required."]
    for name, value in body.items():
        field = known.get(name)
        if field is None:
            if name not in IGNORED.get(collection, ()):
                result[name] = ["No such field."]
        elif value is not None and (words := _refused(field, value)):
            result[name] = [words]
    messages = body.get("messages")
    if collection == "notification_templates" and isinstance(messages, dict) and (words_of := wrong_messages(messages)):
        result["messages"] = words_of
    return result


def wrong_messages(messages: dict[str, t.Any]) -> list[str]:
    """What AWX would refuse of a notification's own messages: it renders each with a job that has no artifacts and no undefined field."""
    result, texts = [], []
    for event, output in messages.items():
        if event not in ("started", "success", "error", "workflow_approval"):
            result.append(f"Event '{event}' invalid, must be one of 'started', 'success', 'error', or 'workflow_approval'")
            continue
        kinds = ("running", "approved", "timed_out", "denied")
        if event == "workflow_approval":
            result += [
                f"Workflow Approval event '{one}' invalid, must be one of 'running', 'approved', 'timed_out', or 'denied'" for one in output if one not in kinds
            ]
        for one in output.values() if event == "workflow_approval" else [output]:
            result += [f"Message type '{kind}' invalid, must be either 'message' or 'body'" for kind in one if kind not in ("message", "body")]
            result += ["Messages cannot contain newlines"] if "\n" in (one.get("message") or "") else []
            texts += [text for text in one.values() if text]
    for text in texts:
        try:
            rendered(text)
        except TemplateError as error:
            result.append(f"Field '{error}' unavailable")
    return result


class Translation:
    """Django's lazy translation, as ``job_explanation`` of a workflow that failed is one: no string, and no JSON."""

    def __str__(self) -> str:
        return "No error handling path for workflow job node(s)"


def rendered(text: str, job: dict[str, t.Any] | None = None, **more: t.Any) -> str:
    """A message as AWX renders it; job: what differs from the job that it checks messages with."""
    time = datetime.datetime(2018, 11, 13, tzinfo=datetime.UTC)
    stub = {
        "id": 42, "name": "Stub JobTemplate", "status": "running", "artifacts": {}, "job_explanation": Translation(), "created": time,
        "limit": "bar_limit", "elapsed": 0.403018, "summary_fields": {"inventory": {"id": 17, "name": "Stub Inventory"}},
    }  # fmt: skip
    about = {
        "job": {**stub, **(job or {})}, "job_friendly_name": "Job", "url": "https://towerhost/#/jobs/playbook/1010", "approval_status": "approved",
        "approval_node_name": "Approve Me", "workflow_url": "https://towerhost/#/jobs/workflow/1010", "job_metadata": "{}", **more,
    }  # fmt: skip
    return ImmutableSandboxedEnvironment(undefined=StrictUndefined).from_string(text).render(about)


def _refused(field: Field, value: t.Any) -> str | None:
    if field.type == "choice":
        return None if value in field.choices else f'"{value}" is not a valid choice.'
    if not isinstance(value, TYPES[field.type]) or (isinstance(value, bool) and field.type in ("integer", "id")):
        return f"must be of type {field.type}, not {type(value).__name__}."
    if field.type == "json" and isinstance(value, str) and value:
        try:
            json.loads(value)
        except ValueError:
            return "Cannot parse as JSON."
    return None


QUESTION = {"question_name", "question_description", "required", "type", "variable", "choices", "default", "min", "max"}


def wrong_survey(survey: dict[str, t.Any]) -> list[str]:
    """What AWX would refuse of a survey."""
    result = [f"'{key}' missing from survey spec." for key in ("name", "description", "spec") if key not in survey]
    for number, one in enumerate(survey.get("spec", ())):
        result += [f"'{key}' missing from survey question {number}." for key in ("question_name", "variable", "type", "required") if key not in one]
        result += [f"'{key}' unknown in survey question {number}." for key in set(one) - QUESTION]
        default, kind = one.get("default"), one.get("type")
        if kind == "multiplechoice" and default not in ("", *one.get("choices", ())):
            result.append(f"Default choice must be answered from the choices listed, in question {number}.")
        if kind == "integer" and (not isinstance(default, int) or not one["min"] <= default <= one["max"]):
            result.append(f"Default {default!r} is no integer within its limits, in question {number}.")
        if kind in ("text", "textarea") and default and not one["min"] <= len(default) <= one["max"]:
            result.append(f"Default is not as long as it has to be, in question {number}.")
    return result


def needed(survey: dict[str, t.Any], answers: dict[str, t.Any]) -> list[str]:
    """What AWX misses in the answers of a survey, or refuses of them: at a launch, and of a schedule, for which it fills in no defaults."""
    result = []
    for one in survey.get("spec", ()):
        name = one["variable"]
        if name not in answers:
            result += [f"'{name}' value missing"] if one["required"] else []
            continue
        value, low, high = answers[name], one.get("min"), one.get("max")
        size = len(value) if one["type"] in ("text", "textarea") else value
        if one["type"] in ("text", "textarea", "integer"):
            result += [f"'{name}' value {value} is too small (must be at least {low})."] if low not in ("", None) and size < low else []
            result += [f"'{name}' value {value} is too large (must be no more than {high})."] if high not in ("", None) and size > high else []
        if one["type"] == "multiplechoice" and value not in one["choices"]:
            result.append(f"Value {value} for '{name}' expected to be one of {one['choices']}.")
    return result
