# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Show the progress of the playbooks beside this directory, whatever ansible.cfg is used: Ansible loads what lies in it."""

from __future__ import annotations

from ansible import constants as C
from ansible_collections.gpufabric.pyramid.plugins.callback import pyramid


class CallbackModule(pyramid.CallbackModule):
    """The progress callback; does nothing where that is enabled by its own name."""

    CALLBACK_NEEDS_ENABLED = False

    def __init__(self) -> None:
        super().__init__()
        self.disabled = pyramid.CallbackModule.CALLBACK_NAME in (C.CALLBACKS_ENABLED or ())
