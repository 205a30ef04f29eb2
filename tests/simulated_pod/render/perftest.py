# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""perftest on a simulated host, as a shell text: a server waits for its client on a pipe, a client is as fast as the slowest of
its own rail, the receiver's rail and the path allow. Rates are whole Mb/s, rails are written as HOST.DEVICE."""

from __future__ import annotations

import string
import typing as t

from ..model import Host, Rail

RULE = "-" * 87
TABLES = {
    "ib_write_bw": ("RDMA_Write BW Test", " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]"),
    "ib_write_lat": (
        "RDMA_Write Latency Test",
        " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] ",
    ),
}
LINK_TYPES = {"Ethernet": "Ethernet", "InfiniBand": "IB"}
# What is printed before the table, as the shell and string.Template both fill it.
HEAD = (
    RULE, "                    $title", " Dual-port       : OFF\t\tDevice         : $device", " Number of qps   : $qps\t\tTransport type : IB",
    " Connection type : RC\t\tUsing SRQ      : OFF", " PCIe relax order: ON\t\tLock-free      : OFF", " ibv_wr* API     : ON\t\tUsing DDP      : OFF",
    " TX depth        : 128", " CQ Moderation   : 1", " Mtu             : ${mtu}[B]", " Link type       : $link",
)  # fmt: skip
GID = " GID index       : $gid"
TAIL = (" Max inline data : 0[B]", " rdma_cm QPs     : OFF", " Data ex. method : Ethernet", RULE)
PARSE = """device= first=0 port= mtu= gid= qps=1 bytes=65536 seconds=0 class=0 memory=host all=no both=no peer=
while [ $# -gt 0 ]; do
  case "$1" in
  -d) device=$2; shift ;; -p) port=$2; shift ;; -m) mtu=$2; shift ;; -x) gid=$2; shift ;; -q) qps=$2; shift ;;
  -s) bytes=$2; shift ;; -D) seconds=$2; shift ;; -i|-u|-n|-t) shift ;; -a) all=yes ;; -b) both=yes ;; -F|--report_gbits) ;;
  --tclass=*) class=${1#*=} ;;
  --use_cuda=*|--use_rocm=*|--use_cuda_dmabuf|--use_rocm_dmabuf) memory=gpu ;;
  -*) echo " Invalid Command or flag." >&2; exit 1 ;;
  *) peer=$1 ;;
  esac
  shift
done
"""
# A pipe is HOST.DEVICE:PORT:PID: one whose process was killed is nobody's.
SERVE = """alive() {
  found=
  for one in "$@"; do if kill -0 "${one##*[:/]}" 2>/dev/null; then found="$found $one"; fi; done
}
pipes=$SIMULATED_POD/=pipes
if [ -z "$peer" ]; then
  alive "$pipes/$SIMULATED_NODE."*":$port:"*
  if [ -n "$found" ]; then echo " Couldn't listen to port $port" >&2; exit 1; fi
  pipe=$pipes/$SIMULATED_NODE.$device:$port:$$
  served=$SIMULATED_POD/=served/$SIMULATED_NODE.$device
  /usr/bin/mkdir -p "$pipes" "$served"
  alive "$pipes/$SIMULATED_NODE.$device:"*
  ended=
  if [ -z "$found" ]; then for one in "$served"/*; do if ! kill -0 "${one##*[:/]}" 2>/dev/null; then ended="$ended $one"; fi; done; fi
  if [ -n "$ended" ]; then /usr/bin/rm -f $ended; fi
  : >"$served/$port:$$"
  /usr/bin/mkfifo "$pipe"
  trap '/usr/bin/rm -f "$pipe"; exit 143' TERM
  read -r done <"$pipe"; /usr/bin/rm -f "$pipe"
  exit 0
fi
host=$peer
if [ -e "$SIMULATED_POD/=hosts/$peer" ]; then read -r host <"$SIMULATED_POD/=hosts/$peer"; fi
alive "$pipes/$host."*":$port:"*
pipe=${found# }
if [ ! -p "$pipe" ]; then
  echo "Couldn't connect to $peer:$port" >&2; echo " Unable to open file descriptor for socket connection Unable to init the socket connection" >&2; exit 1
fi
other=${pipe##*/}
other=${other%%:*}
read -r receives <"$SIMULATED_POD/=rates/$other"
# Those that share the receiver's link: all the servers since it last had none, whether they have ended or not.
count_servers() {
  set -- "$SIMULATED_POD/=served/$other"/*
  servers=$#
  if [ "$servers" -gt 1 ]; then : >"$SIMULATED_POD/=run/$SIMULATED_RUN/incast"; fi
}
"""
BEHAVE = """active=$SIMULATED_POD/$SIMULATED_NODE/=active
/usr/bin/mkdir -p "$active" "$SIMULATED_POD/=run/$SIMULATED_RUN"
: >"$active/$$"
count_servers
/bin/sleep 0.4
count_servers
alive "$active"/*
set -- $found
beside=$#
/bin/sleep "$seconds"
count_servers
# Of layer 4 by the name of its load: a busy machine may start the servers of an incast one after the other, so that a client sees one.
case "${GPUFABRIC_PYRAMID_LOAD:-}" in
  *-congestion-*) ;;
  *) if [ "$servers" -le 1 ]; then : >"$SIMULATED_POD/=run/$SIMULATED_RUN/loaded"; fi ;;
esac
/usr/bin/rm -f "$active/$$"
if [ "$memory" = gpu ]; then sends=$gpu_sends; fi
for limit in "$receives" "$path"; do if [ "$limit" -gt 0 ] && [ "$limit" -lt "$sends" ]; then sends=$limit; fi; done
if [ "$beside" -gt 1 ] && [ "$together" -gt 0 ] && [ "$together" -lt "$sends" ]; then sends=$together; fi
if [ "$first" -gt 0 ] && [ "$seconds" -gt 0 ] && [ "$memory" = host ]; then
  # The first test of a rail in a run, and no later one.
  sent=$SIMULATED_POD/=run/$SIMULATED_RUN/$SIMULATED_NODE.$device
  if [ ! -e "$sent" ]; then : >"$sent"; if [ "$first" -lt "$sends" ]; then sends=$first; fi; fi
fi
if [ "$servers" -gt 1 ]; then
  sends=$((receives / servers))
  share="$SIMULATED_POD/=shares/$SIMULATED_NODE.$device>$other"
  if [ -e "$share" ]; then read -r sends <"$share"; fi
fi
if [ "$both" = yes ]; then sends=$((2 * sends)); title="RDMA_Write Bidirectional BW Test"; else title=$one_way; fi
echo "done" >"$pipe"
"""


def script(host: Host, tool: str) -> str:
    """The text that answers ``ib_write_bw`` or ``ib_write_lat`` with any of the arguments that the collection gives them."""
    lines = [PARSE, "case $device in"]
    for rail in host.rails:
        words = f"link={LINK_TYPES[rail.link_layer]} sends={mbit(rail.sends_gbit_s)} gpu_sends={mbit(rail.from_gpu_gbit_s)} latency={rail.latency_us:.2f}"
        words += f" mtu={rail.measures_mtu}" if rail.measures_mtu else ""
        words += f" first={mbit(rail.first_gbit_s)}" if rail.first_gbit_s else ""
        lines.append(f"{rail.device}) {words} {_down(rail)};;")
    lines += ['*) echo "IB device $device not found" >&2; echo " Unable to find the Infiniband/RoCE device" >&2; exit 1 ;;', "esac"]
    if not host.perftest_gpu:
        lines.append('if [ "$memory" = gpu ]; then echo " Unsupported memory type"; echo " Parser function exited with Error" >&2; exit 1; fi')
    lines += [SERVE, f"path=0 together={mbit(host.beside_gbit_s)}", 'case "$device>$other" in']
    lines += [f'"{rail.device}>{target}") path={mbit(rate)} ;;' for rail in host.rails for target, rate in rail.sends_to.items()]
    title, columns = TABLES[tool]
    lines += ["esac", f"one_way='{title}'", BEHAVE, _output(HEAD), f'if [ -n "$gid" ]; then {_output([GID])}; fi', _output(TAIL)]
    lines += [f"printf '%s\\n' '{columns}'", _rows(tool), _output([RULE]), "exit 0"]
    return "\n".join(lines) + "\n"


def mbit(gbit_s: float) -> int:
    """Gb/s as the whole Mb/s that a shell can compare."""
    return round(gbit_s * 1000)


def _down(rail: Rail) -> str:
    return "" if rail.state == "Active" else '; echo " Port number 1 state is Down" >&2; echo " Couldn\'t set the link layer" >&2; exit 1 '


def _output(lines: t.Iterable[str]) -> str:
    return "; ".join(f'printf "%s\\n" "{line}"' for line in lines)


def _rows(tool: str) -> str:
    """One row, or a row a size; small messages do not fill the link."""
    if tool == "ib_write_lat":
        return 'printf \' %-7s %-10s %-14s %-14s %-15s %-14s %-14s %-22s %s\\n\' 8 1000 "$latency" 9.80 "$latency" "$latency" 0.09 3.10 4.20'
    row = 'printf \' %-10s %-15s %-18s %-20s %s\\n\' "$size" 1000 0.00 "$((rate / 1000)).$(((rate / 10) % 100 / 10))$(((rate / 10) % 10))" 0.045085'
    sizes = "2 4 8 16 32 64 128 256 512 1024 2048 4096 8192 16384 32768 65536 131072 262144 524288 1048576 2097152 4194304 8388608"
    every = f"for size in {sizes}; do rate=$((sends * size / (size + 32768))); if [ $rate -lt 10 ]; then rate=10; fi; {row}; done"
    return f'if [ "$all" = yes ]; then {every}; else size=$bytes; rate=$sends; {row}; fi'


SIZES = tuple(1 << power for power in range(1, 24))


def text(device: str, link_layer: str, qps: int, mtu: int, gid: int | None, size: int | None, gbit_s: float) -> str:
    """What ``ib_write_bw`` prints of one size, or of all with None, as the shell text does."""
    # The shell text cuts what is beyond two digits off; small messages do not fill the link.
    rates = {one: mbit(gbit_s) if size else max(10, mbit(gbit_s) * one // (one + 32768)) for one in ((size,) if size else SIZES)}
    rows = [f" {one:<10} {1000:<15} {'0.00':<18} {f'{rate // 10 / 100:.2f}':<20} 0.045085" for one, rate in rates.items()]
    return _table("ib_write_bw", rows, device, link_layer, qps, mtu, gid)


def latency_text(device: str, link_layer: str, qps: int, mtu: int, gid: int | None, latency_us: float) -> str:
    """What ``ib_write_lat`` prints, as the shell text does."""
    middle = f"{latency_us:.2f}"
    row = f" {8:<7} {1000:<10} {middle:<14} {'9.80':<14} {middle:<15} {middle:<14} {'0.09':<14} {'3.10':<22} 4.20"
    return _table("ib_write_lat", [row], device, link_layer, qps, mtu, gid)


def _table(tool: str, rows: list[str], device: str, link_layer: str, qps: int, mtu: int, gid: int | None) -> str:
    title, columns = TABLES[tool]
    filled = {"title": title, "device": device, "qps": qps, "mtu": mtu, "link": LINK_TYPES[link_layer], "gid": gid}
    lines = [string.Template(line).substitute(filled) for line in (*HEAD, *(() if gid is None else (GID,)), *TAIL)]
    return "\n".join([*lines, columns, *rows, RULE]) + "\n"
