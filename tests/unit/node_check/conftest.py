# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small simulated pod, in process."""

from __future__ import annotations

import pytest
from ansible_collections.gpufabric.pyramid.tests.simulated_pod import inprocess, layout


@pytest.fixture(scope="package")
def pods(tmp_path_factory: pytest.TempPathFactory) -> inprocess.Pods:
    return inprocess.Pods(layout.write(tmp_path_factory.mktemp("pod"), racks=2, hosts_per_rack=4, spines=4, expectations={"pod_name": "small"}))
