# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: history
short_description: Evaluate the history of a pod, and say which nodes to validate next
version_added: 0.3.0
author: [The gpufabric.pyramid authors (@gpufabric)]
description:
  - Takes what hosts noted of their own checks into the file that C(pod_history) names, to which every run adds itself.
  - Writes a page and metrics of repeat offenders, trends with the day on which a limit is reached, growth of counters, what changed before a node
    turned bad, and of each host the probability that it has become bad since it was last well.
extends_documentation_fragment: [gpufabric.pyramid.step]
options:
  journals:
    description: A directory of the controller with the journals of hosts, each in a directory of the host's name.
    type: path
  nodes:
    description: GPU hosts to rank, such as those of a job; all of the pod by default.
    type: list
    elements: str
    default: []
  count:
    description: How many hosts to name that are to be validated next.
    type: int
    default: 0
  accepted_risk:
    description:
      - In place of O(count), as few hosts are named as leave the others with this probability, or a smaller one, that one of them is bad.
    type: float
  proof:
    description: Layers of which one at least must have been judged for a host to count as last well; all layers by default.
    type: list
    elements: str
    choices: [preflight, links, routing, congestion, rdma, collectives, training]
    default: []
  use_hours:
    description: By host, for how many hours it was in use since it was last well, where the site knows; otherwise all hours count.
    type: dict
    default: {}
  page:
    description: The file for the page; the metrics are written beside it. By default C(history.html) in the pod's directory of runs.
    type: path
  parquet:
    description: A directory to which all rows are written as Parquet; needs the Python package pyarrow.
    type: path
  postgresql:
    description:
      - A connection string of libpq, such as V(host=db01 dbname=pods user=gpufabric), without a password. The rows that the database does not have are added to
        the schema C(gpufabric_history) there; needs the Python package psycopg.
    type: str
"""

EXAMPLES = r"""
- name: Evaluate the history
  gpufabric.pyramid.history:
    count: 16
  run_once: true
"""

RETURN = r"""
next:
  description: The hosts to validate next, the riskiest first.
  returned: success
  type: list
  elements: str
risks:
  description: Of each host the probability that it is bad.
  returned: success
  type: dict
any_bad:
  description: The probability that at least one of the ranked hosts is bad.
  returned: success
  type: float
offenders:
  description: Nodes that became bad more than once.
  returned: success
  type: list
  elements: str
bad:
  description: Nodes that were bad when they were last judged.
  returned: success
  type: list
  elements: str
page:
  description: The page.
  returned: success
  type: str
metrics:
  description: The metrics beside it, for node_exporter's textfile collector.
  returned: success
  type: str
refused_journals:
  description: Why a host's journal was not taken in whole, by host.
  returned: success
  type: dict
"""
