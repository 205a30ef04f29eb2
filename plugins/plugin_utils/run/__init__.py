# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A validation run: inventory and scope, its state, its directory and what is stored there.

It decides who takes part in a layer; it does not evaluate checks and renders nothing.
"""
