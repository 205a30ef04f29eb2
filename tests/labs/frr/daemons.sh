# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Starts a switch's routing daemons, within the node; each returns once it listens.
set -eu
/usr/lib/frr/zebra -d -A 127.0.0.1 -f /etc/frr/frr.conf -i /run/frr/zebra.pid -s 90000000
if grep -q '^router ospf' /etc/frr/frr.conf; then
    /usr/lib/frr/ospfd -d -A 127.0.0.1 -f /etc/frr/frr.conf -i /run/frr/ospfd.pid
else
    /usr/lib/frr/bgpd -d -A 127.0.0.1 -f /etc/frr/frr.conf -i /run/frr/bgpd.pid
fi
