# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ibstat: the documentation is in plugins/modules/ibstat.py."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.workflow.reading_action import ReadingAction


class ActionModule(ReadingAction):
    """The reading ``ibstat`` of a host."""

    def readings(self, given: dict[str, t.Any]) -> list[str]:
        """The reading of its own name."""
        return ["ibstat"]
