# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Small datagrams over every equal-cost path for some minutes, and when which of them were not answered.

A whole program of the standard library: hosts run it as it is, against the responder of ``path_probe``. One datagram leaves from each of
N source ports in each interval; a flow without an answer for a time is a path that the fabric has not yet routed around.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import selectors
import socket
import struct
import sys
import time

SO_BINDTODEVICE = 25
NUMBER = struct.Struct("=I")
PAYLOAD_BYTES = 64
# How long the last datagrams are waited for: a late answer is delay, not loss.
LAST_SECONDS = 1.0
# Outages of flows that are closer than this are one event.
APART_SECONDS = 1.0


class Flow:
    """One source port: the datagrams that were answered, by their number."""

    def __init__(self, options):
        self.answered = bytearray()
        family = socket.AF_INET6 if ":" in options.source else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_BINDTODEVICE, options.netdev.encode())
        self.socket.bind((options.source, 0))
        self.socket.connect((options.target, options.port))
        self.socket.setblocking(False)

    def send(self, number):
        """Send one datagram; one that cannot be sent is not answered."""
        self.answered.append(0)
        with contextlib.suppress(OSError):
            self.socket.send(NUMBER.pack(number).ljust(PAYLOAD_BYTES, b"\0"))

    def receive(self):
        """Take what has arrived; an error that the path returned is none of it."""
        while True:
            try:
                data = self.socket.recv(PAYLOAD_BYTES)
            except BlockingIOError:
                return
            except OSError:
                continue
            number = NUMBER.unpack_from(data)[0] if len(data) == PAYLOAD_BYTES else len(self.answered)
            if number < len(self.answered):
                self.answered[number] = 1


def watch(options):
    """Send for some seconds and print what was not answered; returns the exit status."""
    try:
        flows = [Flow(options) for _flow in range(options.flows)]
    except OSError as error:
        print(f"cannot probe from {options.source} to {options.target}: {error.strerror}", file=sys.stderr)
        return 1
    times = sent_at(flows, options)
    outages = [one for flow in flows for one in outages_of(flow.answered, times)]
    answered = sum(sum(flow.answered) for flow in flows)
    result = {"program": "path_watch", "source": options.source, "target": options.target, "flows": len(flows), "sent": len(times) * len(flows)}
    print(json.dumps({**result, "answered": answered, "interval_ms": options.interval, "outages": events(outages, options.at)}))
    return 0


def sent_at(flows, options):
    """Send in every interval, and receive meanwhile; returns when each number was sent, in seconds since the start."""
    began, interval, times = time.monotonic(), options.interval / 1000, []
    with selectors.DefaultSelector() as ready:
        for flow in flows:
            ready.register(flow.socket, selectors.EVENT_READ, flow)
        while (now := time.monotonic() - began) < options.seconds + LAST_SECONDS:
            # One that is late is not made up for: the datagrams would arrive as a burst.
            if now < options.seconds and (not times or now - times[-1] >= interval):
                for flow in flows:
                    flow.send(len(times))
                times.append(now)
            due = times[-1] + interval - (time.monotonic() - began) if now < options.seconds else LAST_SECONDS / 10
            for key, _events in ready.select(max(0.0, due)):
                key.data.receive()
    return times


def outages_of(answered, times):
    """The runs of datagrams without an answer: from the first of them to the next that was answered, None where there was none."""
    found, first = [], None
    for number, good in enumerate(answered):
        if good and first is not None:
            found.append((times[first], times[number]))
            first = None
        elif not good and first is None:
            first = number
    return [*found, *([(times[first], None)] if first is not None else [])]


def events(outages, at):
    """The outages of all flows as events, in the time of the schedule: those that begin while another one lasts are one event."""
    found = []
    for begin, end in sorted(outages, key=lambda one: one[0]):
        last = found[-1] if found else None
        if last is None or (last["until"] is not None and begin > last["until"] + APART_SECONDS):
            found.append({"begin": begin, "until": end, "longest": 0.0, "flows": 0, "open": 0})
            last = found[-1]
        last["flows"] += 1
        last["open"] += end is None
        last["until"] = None if end is None or last["until"] is None else max(end, last["until"])
        last["longest"] = max(last["longest"], 0.0 if end is None else end - begin)
    return [
        {
            "from_s": round(one["begin"] + at, 3),
            "until_s": None if one["until"] is None else round(one["until"] + at, 3),
            "longest_ms": round(one["longest"] * 1000),
            "flows_lost": one["flows"],
            "flows_not_back": one["open"],
        }
        for one in found
    ]


def main(arguments=None):
    """Read the command line and do what it says; returns the exit status."""
    parser = argparse.ArgumentParser(prog="path_watch")
    parser.add_argument("--source", required=True)
    parser.add_argument("--target", required=True)
    parser.add_argument("--netdev", required=True, help="the only one by which it may leave")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--flows", type=int, required=True)
    parser.add_argument("--interval", type=float, required=True, help="milliseconds between two datagrams of a flow")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--at", type=float, default=0.0, help="when it starts, in seconds of the schedule that the times are given in")
    return watch(parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main())
