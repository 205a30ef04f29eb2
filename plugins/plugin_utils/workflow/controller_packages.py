# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the controller's Python needs besides Ansible, looked for before a node is read: what it lacks would be reported of each node."""

from __future__ import annotations

from importlib.util import find_spec

from ..node_check.archive import PACKAGES


def missing_packages() -> list[str]:
    """The Python packages that parse and compare what nodes report, and that are not installed."""
    return [name for name in PACKAGES if find_spec(name) is None]
