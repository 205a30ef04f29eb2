# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Remediation of hosts: limits, drift, findings that a remedy heals, and fixes for a person to make.

It reads reports and readings; the modules of the collection make the changes.
"""
