# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Readings: what a tool reported on one node, as typed rows.

A reading is one YAML file of ``definitions``; its platforms are its rows, each with the commands
that answer it and a TextFSM template or a JMESPath expression that normalises the answer.
``parse`` is the one function for any captured text.
"""

from __future__ import annotations

from .catalogue import KINDS, Column, Reading, Source, catalogue, reading
from .parsing import ParseError, parse, split_sections

__all__ = ["KINDS", "Column", "ParseError", "Reading", "Source", "catalogue", "parse", "reading", "split_sections"]
