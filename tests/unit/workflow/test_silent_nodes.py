# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why nothing came of a node."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.silent_nodes import reason_of, silent_of, words_of

ADDED = "Warning: Permanently added '[192.0.2.7]:22' (ED25519) to the list of known hosts.\r\n"
DENIED = "Failed to connect to the host via ssh: admin@192.0.2.7: Permission denied (publickey)."


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


@pytest.mark.parametrize(
    ("printed", "reason"),
    [
        (f"Failed to connect to the host via ssh: {ADDED}admin@192.0.2.7: Permission denied (publickey).", DENIED),
        (
            f'Task failed: Data could not be sent to remote host "192.0.2.7". Make sure this host can be reached over ssh: {ADDED}'
            "admin@192.0.2.7: Permission denied (publickey).",
            DENIED,
        ),
        ('Data could not be sent to remote host "192.0.2.7". Make sure this host can be reached over ssh: ', None),
        ("Failed to connect to the host via ssh: Connection timed out", None),
    ],
)
def test_a_refused_login_is_the_reason(printed: str, reason: str | None) -> None:
    assert reason_of(printed) == (reason or printed.strip())
    assert words_of({"unreachable": True, "msg": printed}) == f"unreachable: {reason or printed.strip()}"
