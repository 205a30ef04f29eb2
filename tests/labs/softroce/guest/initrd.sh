#!/bin/sh
# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# First process of a machine: the modules that its disk needs, then its own first process. The modules are numbered in the order of their needs.
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t devtmpfs dev /dev
for module in /modules/*.ko; do
  /bin/busybox insmod "$module"
done
until /bin/busybox mount -t ext4 -o noatime /dev/vda /root 2>/dev/null; do
  /bin/busybox usleep 50000
done
/bin/busybox umount /proc
/bin/busybox mount --move /dev /root/dev
exec /bin/busybox switch_root /root /sbin/init
