# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was found on each node, port, cable and optic over time: an append-only store, and what follows from it.

Repeat offenders, trends with the day on which a limit is reached, what changed between good and bad, and which nodes to validate next.
"""

from __future__ import annotations
