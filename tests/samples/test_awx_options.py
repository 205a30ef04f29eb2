# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The test server's table of fields against what a running AWX answers to OPTIONS."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible_collections.gpufabric.pyramid.tests.labs.awx.fields import FIELDS

OPTIONS = Path(__file__).resolve().parents[3] / "shared" / "samples" / "awx_options"


@pytest.mark.parametrize("collection", [name for name in FIELDS if name != "workflow_approval_templates"])
def test_the_table_is_awx_s_own(collection: str) -> None:
    path = OPTIONS / f"{collection}.json"
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    result = json.loads(path.read_text())["actions"]["POST"]
    for name, field in FIELDS[collection].items():
        assert (field.type, field.required) == (result[name]["type"], bool(result[name].get("required"))), name
        assert set(field.choices) <= {choice[0] for choice in result[name].get("choices", ())}, name
    assert {name for name, one in result.items() if one.get("required")} <= set(FIELDS[collection])
