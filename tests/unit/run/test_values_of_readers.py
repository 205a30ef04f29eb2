# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run keeps for the reader of each node."""

from __future__ import annotations

from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.collect.queries import expectations_in
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.readings import catalogue
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.store import OF_READING


def test_what_chooses_or_fills_a_source_is_kept_for_the_reader_of_a_node() -> None:
    """One that is not kept would have its default on every pod."""
    every = [source for what in catalogue().values() for sources in what.platforms.values() for source in sources]
    chosen = {key for source in every for key in (*source.when, *expectations_in(source.command))}
    assert chosen <= set(OF_READING)
