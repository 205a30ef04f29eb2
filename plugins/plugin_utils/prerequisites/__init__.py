# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prerequisites: what a node must have for each layer to be judged on it, and which package brings it.

Found without a run, from the programs and privileges of a host and the answers of a switch.
"""
