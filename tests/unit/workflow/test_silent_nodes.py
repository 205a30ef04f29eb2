# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why nothing came of a node."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.silent_nodes import silent_of, words_of


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ({"answered": True}, None),
        ({"unreachable": True, "msg": "Task failed: timed\n out"}, "unreachable: timed out"),
        ({"failed": True, "msg": "x" * 400 + "end"}, "x" * 197 + " ... " + "x" * 95 + "end"),
        ({"failed": True}, ""),
    ],
)
def test_the_words_of_a_task(result: dict[str, object], words: str | None) -> None:
    assert words_of(result) == words


def test_a_node_is_silent_where_its_reading_or_the_whole_task_failed() -> None:
    assert silent_of({"silent": {"gpu01": "no route"}}, "gpu01") == "no route" and silent_of({"silent": {"gpu01": "no route"}}, "gpu02") is None
    assert silent_of({"failed": True, "msg": "run has lost the lock"}, "gpu02") == "run has lost the lock"
    assert silent_of(None, "gpu02") is None
