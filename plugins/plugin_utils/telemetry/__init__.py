# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Telemetry coverage: which signals of a pod in use are scraped, complete, fresh and plotted.

Queries and their evaluation only; the action sends them.
"""
