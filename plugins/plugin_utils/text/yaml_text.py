# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""YAML of files that are shipped, which every run reads."""

from __future__ import annotations

import typing as t

import yaml

# PyYAML's parser in C takes a tenth of the time, and is missing where PyYAML was built without libyaml.
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def from_yaml(text: str) -> t.Any:
    """What a text of YAML says, as ``yaml.safe_load`` would read it."""
    return yaml.load(text, Loader=LOADER)
