# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Loads: schedules and their planners, pairing, launchers, perftest, the scaling ladder, bisection and results.

Plans what hosts run, and combines what the jobs of several hosts returned.
"""
