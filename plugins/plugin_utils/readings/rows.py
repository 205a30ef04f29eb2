# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rows that readings give."""

from __future__ import annotations

import typing as t

# What a reading says of one thing of a node, such as a port or a GPU, by the names of its columns.
Row = dict[str, t.Any]
# What it says of a node.
Rows = list[Row]
# What it says of every node that has a part in a layer, by node.
Peers = t.Mapping[str, Rows]
