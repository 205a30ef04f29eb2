# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# The first process of a node, in namespaces of its own (network, mounts, processes, name): when it dies, all of the node is gone.
# node.sh DIRECTORY NAME ROLE; says `entered`, waits for a line on stdin (the cables are plugged in), says `ready`.
set -eu
directory=$1 name=$2 role=$3

hostname "$name"
mount --make-rprivate /
mount -t sysfs sysfs /sys
# Daemons and ssh sessions write here; nothing of it may reach the machine, or meet another node's.
mount -t tmpfs -o mode=755 tmpfs /run
mount -t tmpfs -o mode=1777 tmpfs /var/tmp
mount -t tmpfs -o mode=700 tmpfs /root
# Loads of a host are kept here, and only its own; the lab's directory is below it and stays in sight.
mkdir /run/lab
mount --bind "$directory" /run/lab
mount -t tmpfs -o mode=1777 tmpfs /tmp
mkdir -p "$directory"
mount --move /run/lab "$directory"
# sshd without PAM refuses an account whose password is locked, as root's is on some machines.
mount --bind "$directory/shadow" /etc/shadow
mkdir -p /run/sshd
echo entered
read -r _plugged_in

if [ "$role" = bridge ]; then
  ip -batch "$directory/nodes/$name/addresses"
else
  # A port that was down has its IPv6 addresses again, as on a switch.
  sysctl -q -w net.ipv4.ip_forward=1 net.ipv4.fib_multipath_hash_policy=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0 \
    net.ipv4.ping_group_range="0 2147483647" net.ipv6.conf.all.forwarding=1 net.ipv6.fib_multipath_hash_policy=1 \
    net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0 \
    net.ipv6.conf.all.keep_addr_on_down=1 net.ipv6.conf.default.keep_addr_on_down=1
  ip -batch "$directory/nodes/$name/addresses"
  for family in 4 6; do
    if [ -f "$directory/nodes/$name/sources$family" ]; then ip "-$family" -batch "$directory/nodes/$name/sources$family"; fi
  done
  if [ "$role" != host ]; then
    mount -t tmpfs -o mode=755,uid=frr,gid=frr tmpfs /etc/frr
    cp "$directory/nodes/$name/frr.conf" /etc/frr/frr.conf
    echo "service integrated-vtysh-config" >/etc/frr/vtysh.conf
    chown frr:frr /etc/frr/frr.conf /etc/frr/vtysh.conf
    mkdir -p /run/frr /var/tmp/frr
    chown frr:frr /run/frr
    sh "$directory/daemons.sh"
  fi
  /usr/sbin/sshd -f "$directory/nodes/$name/sshd_config"
fi
echo ready
# This shell reaps whoever loses its parent, while it waits for a sleep.
while :; do sleep infinity || :; done
