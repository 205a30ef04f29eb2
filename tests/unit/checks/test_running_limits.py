# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The limit of locked memory of services as they run, beside that of their units."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.checks.preflight import system

EXPECTED = "slurmd.service: expected a running process that may lock any amount of memory, got "


def found(pid, running, unit="infinity"):
    units = [{"unit": "slurmd.service", "names": None, "load_state": "loaded", "active_state": "active", "memlock": unit}]
    limits = [{"unit": "slurmd.service", "pid": pid, "memlock": running}]
    return [(str(one), one.severity) for one in system.job_limits(units, ["slurmd.service"], limits)]


@pytest.mark.parametrize(
    ("pid", "running", "words"),
    [
        (7, "unlimited", None),
        (0, None, None),
        (7, "65536", ("65536 bytes in process 7, and no limit in the unit", None)),
        (7, None, ("not reported", "unknown")),
    ],
)
def test_a_service_that_was_not_restarted(pid, running, words):
    assert found(pid, running) == ([(EXPECTED + words[0], words[1])] if words else [])


def test_a_unit_with_a_limit_is_found_once():
    assert found(7, "65536", unit="65536") == [("slurmd.service: expected LimitMEMLOCK infinity, got 65536", None)]
