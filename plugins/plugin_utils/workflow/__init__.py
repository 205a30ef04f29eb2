# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an action does in a play: evaluate a layer, replay kept evidence, publish reports.

Base classes of the action plugins live here too. Below it, ``collect`` and ``run`` alone import Ansible: for connections, and for the inventory.
"""
