#!/bin/sh
# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# An RDMA device over every rail's netdev, under the name that a ConnectX has.
set -eu
for rail in 0 1 2 3 4 5 6 7; do
  rdma link add "mlx5_$rail" type rxe netdev "rail$rail"
done
