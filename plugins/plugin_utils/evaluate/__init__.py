# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Evaluation: checks over rows become verdicts, verdicts become gates, baselines and metrics.

Functions over documents; nothing here reads or writes files of a run (a baseline is read from a file of its own).
"""
