# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A pod as another system has it written down: NetBox, a cabling spreadsheet, Slurm's topology file, an NVIDIA Air topology.

Each module reads one of them into a ``Listing``; ``inventory`` makes an inventory of that. None asks a node.
"""
