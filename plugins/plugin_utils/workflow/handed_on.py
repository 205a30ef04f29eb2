# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run that a playbook starts is given of that playbook's own command line."""

from __future__ import annotations

import typing as t

# Options of ansible-playbook that say how nodes are reached and what the pod is: a run needs them as the playbook that starts it has them.
HANDED_ON = {"inventory": "-i", "vault_ids": "--vault-id", "vault_password_files": "--vault-password-file", "extra_vars": "-e"}


def handed_on(given: t.Mapping[str, t.Any]) -> list[str]:
    """The options that a run needs too; given: the arguments that Ansible was started with."""
    values_of = {option: given.get(name) or () for name, option in HANDED_ON.items()}
    return [word for option, values in values_of.items() for value in values for word in (option, str(value))]
