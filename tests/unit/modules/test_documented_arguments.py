# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an action plugin accepts is what the documentation of its module says; ansible-test compares only modules that have no action."""

from __future__ import annotations

import importlib
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.action_base import RunAction

ROOT = Path(__file__).resolve().parents[3]
COLLECTION = "ansible_collections.gpufabric.pyramid.plugins"
# slurm_nodes runs its module with the task's own arguments, and ansible-test compares that one.
ACTIONS = sorted({path.stem for path in (ROOT / "plugins" / "action").glob("[a-z]*.py")} - {"slurm_nodes"})
# Their choices are the readings, which have a page of their own.
READINGS = {("reading", "name"), ("switch_show", "readings")}
COMPARED = {"type": "str", "elements": None, "required": False, "default": None, "choices": None}


def documented(name: str) -> dict[str, dict[str, t.Any]]:
    """The options in a module's documentation, with those of the fragments that it extends."""
    own = yaml.safe_load(importlib.import_module(f"{COLLECTION}.modules.{name}").DOCUMENTATION)
    options = dict(own.get("options", {}))
    for fragment in own.get("extends_documentation_fragment", ()):
        if fragment.startswith("gpufabric.pyramid."):
            file, _dot, part = fragment.removeprefix("gpufabric.pyramid.").partition(".")
            text = getattr(importlib.import_module(f"{COLLECTION}.doc_fragments.{file}").ModuleDocFragment, part.upper() or "DOCUMENTATION")
            options = {**yaml.safe_load(text).get("options", {}), **options}
    return options


def compared(options: t.Mapping[str, t.Mapping[str, t.Any]]) -> dict[str, dict[str, t.Any]]:
    """Of each option what both sides declare."""
    return {name: {key: option.get(key, default) for key, default in COMPARED.items()} for name, option in options.items()}


@pytest.mark.parametrize("name", ACTIONS)
def test_an_action_accepts_what_is_documented(name: str) -> None:
    action = importlib.import_module(f"{COLLECTION}.action.{name}").ActionModule
    accepted = {**({"run_dir": {"type": "path", "required": True}} if issubclass(action, RunAction) else {}), **action.ARGUMENTS}
    accepted = {option: {**spec, "choices": None} if (name, option) in READINGS else spec for option, spec in accepted.items()}
    assert compared(accepted) == compared(documented(name))


def test_there_are_actions() -> None:
    assert {"gate", "open_run", "ibstat"} <= set(ACTIONS)
