# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check that a GPU host makes of itself: layers 0 and 1 as a validation evaluates them, from one file and the host's own Python.

What is here runs on Python 3.9 without Ansible, and reads nothing but this host.
"""

from __future__ import annotations
