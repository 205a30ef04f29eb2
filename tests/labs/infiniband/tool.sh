#!/bin/sh
# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# A real tool as a host has it: -C DEVICE chooses the adapter that ibsim's one client sits at, which ibsim always calls ibsim0.
tool=${0##*/}
if [ "$tool" = ibstat ]; then
  for one in $LAB_DEVICES; do
    env SIM_HOST="$LAB_HOST $one" LD_PRELOAD="$LAB_LIBRARY" /usr/sbin/ibstat | sed "s/ibsim0/$one/"
  done
  exit 0
fi

device=${LAB_DEVICES%% *}
count=$#
while [ "$count" -gt 0 ]; do
  word=$1
  shift
  count=$((count - 1))
  if [ "$word" = -C ]; then
    device=$1
    shift
    count=$((count - 1))
    set -- "$@" -C ibsim0
  else
    set -- "$@" "$word"
  fi
done
# ibsim takes few clients at a time, and a host asks for the keys of all its rails at once.
[ "$tool" = smpquery ] && set -- flock smpquery.lock env SIM_HOST="$LAB_HOST $device" LD_PRELOAD="$LAB_LIBRARY" "/usr/sbin/$tool" "$@" && exec "$@"
exec env SIM_HOST="$LAB_HOST $device" LD_PRELOAD="$LAB_LIBRARY" "/usr/sbin/$tool" "$@"
