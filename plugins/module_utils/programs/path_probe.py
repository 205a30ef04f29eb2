# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Full-size datagrams over every equal-cost path: a responder, and a probe with many source ports.

A whole program of the standard library: hosts run it as it is. Equal-cost routing hashes ports, so a
probe from N source ports meets every uplink where one ping meets one of four. Nothing may fragment.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import fcntl
import json
import os
import selectors
import socket
import struct
import sys
import time

IP_PKTINFO, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE = 8, 10, 3
IPV6_MTU_DISCOVER, IPV6_RECVPKTINFO, IPV6_PKTINFO = 23, 49, 50
SO_RCVBUFFORCE, SO_BINDTODEVICE, SIOCGIFMTU = 33, 25, 0x8921
# struct in_pktinfo: interface, local address, the address in the packet's header.
PACKET_INFO = struct.Struct("=i4s4s")
# struct in6_pktinfo: the address in the packet's header, interface.
PACKET_INFO_6 = struct.Struct("=16si")
# struct ifreq: the netdev's name, its MTU, and room for larger answers.
INTERFACE_MTU = struct.Struct("16si20x")
# What the headers of IP and UDP take of a packet, and the option that lets none be fragmented, by family.
HEADER_BYTES = {socket.AF_INET: 28, socket.AF_INET6: 48}
WHOLE = {socket.AF_INET: (socket.IPPROTO_IP, IP_MTU_DISCOVER), socket.AF_INET6: (socket.IPPROTO_IPV6, IPV6_MTU_DISCOVER)}
TRIES = 3
TRY_SECONDS = 1.0
MOST_BYTES = 65535
# Hundreds of full-size datagrams arrive at once; what the responder itself drops would be blamed on the path.
BUFFER_BYTES = 16 * 1024 * 1024


def family_of(address):
    """The family of an address's socket."""
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def responder(port, deadline, address="", family=socket.AF_INET):
    """One of the sockets that ``answer`` serves; raises OSError where the port is taken or the address is not here."""
    server = socket.socket(family, socket.SOCK_DGRAM)
    server.setsockopt(*WHOLE[family], IP_PMTUDISC_PROBE)
    if family == socket.AF_INET6:
        server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        server.setsockopt(socket.IPPROTO_IPV6, IPV6_RECVPKTINFO, 1)
    else:
        server.setsockopt(socket.IPPROTO_IP, IP_PKTINFO, 1)
    # A responder of an earlier run may have minutes left; both answer. Anybody else's port stays theirs.
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
    with contextlib.suppress(PermissionError):
        server.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
    server.bind((address, port))
    server.settimeout(deadline)
    return server


def responders(port, deadline, address=""):
    """A socket of each family that the host has, of one where an address is given; raises OSError where one cannot be had."""
    if address:
        return [responder(port, deadline, address, family_of(address))]
    found = [responder(port, deadline)]
    try:
        found.append(responder(port, deadline, "::", socket.AF_INET6))
    except OSError as error:
        # A host without IPv6 answers those who ask by IPv4.
        if error.errno not in (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL):
            raise
    return found


def answer(servers, deadline):
    """Send every datagram back as it came, until the deadline in seconds from now."""
    until = time.monotonic() + deadline
    with selectors.DefaultSelector() as ready:
        for server in servers:
            # A full buffer is waited for: an answer that is dropped here would be blamed on the path.
            server.settimeout(TRY_SECONDS)
            ready.register(server, selectors.EVENT_READ)
        while (left := until - time.monotonic()) > 0:
            for key, _events in ready.select(left):
                try:
                    data, about, _flags, sender = key.fileobj.recvmsg(MOST_BYTES, socket.CMSG_SPACE(PACKET_INFO_6.size))
                    key.fileobj.sendmsg([data], _from_where_it_came(about), 0, sender)
                except OSError:
                    # The way back does not take it, which the probe sees as a flow without an answer.
                    continue


def _from_where_it_came(about):
    """The answer's source is the address that was asked: routing by source, rail by rail, has no way back from another."""
    for level, kind, data in about:
        if (level, kind) == (socket.IPPROTO_IP, IP_PKTINFO):
            _interface, _local, asked = PACKET_INFO.unpack(data[: PACKET_INFO.size])
            return [(level, kind, PACKET_INFO.pack(0, asked, bytes(4)))]
        if (level, kind) == (socket.IPPROTO_IPV6, IPV6_PKTINFO):
            asked, _interface = PACKET_INFO_6.unpack(data[: PACKET_INFO_6.size])
            return [(level, kind, PACKET_INFO_6.pack(asked, 0))]
    return []


def serve(options):
    """Start the responder; with ``--daemon`` in the background, once its port is its own."""
    try:
        servers = responders(options.port, options.deadline, options.address)
    except OSError as error:
        return fail(f"cannot answer on UDP port {options.port}: {error.strerror}")
    if options.daemon:
        child = os.fork()
        if child:
            print(json.dumps({"port": options.port, "pid": child, "seconds": options.deadline}))
            return 0
        os.setsid()
        quiet = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(quiet, number)
    answer(servers, options.deadline)
    return 0


def probe(options):
    """Send one datagram from each of N source ports, repeat those that no one answers, and count."""
    flows, family = [], family_of(options.source)
    try:
        for _flow in range(options.flows):
            flow = socket.socket(family, socket.SOCK_DGRAM)
            flow.setsockopt(*WHOLE[family], IP_PMTUDISC_PROBE)
            # The address alone leaves it to the kernel by which rail the datagrams go.
            flow.setsockopt(socket.SOL_SOCKET, SO_BINDTODEVICE, options.netdev.encode())
            flow.bind((options.source, 0))
            flow.connect((options.target, options.port))
            flows.append(flow)
        size = options.size or _mtu(flows[0], options.netdev)
    except OSError as error:
        return fail(f"cannot probe from {options.source} to {options.target}: {error.strerror}")
    if size <= HEADER_BYTES[family]:
        return fail(f"a datagram of {size} bytes has no room for more than its headers")
    payload = bytes(size - HEADER_BYTES[family])
    waiting = set(flows)
    for _try in range(TRIES):
        fitting = [flow for flow in waiting if _sent(flow, payload)]
        if not fitting:
            return fail(f"{size} bytes are more than the local MTU of {options.source} takes")
        waiting -= _answered(waiting, len(payload))
        if not waiting:
            break
    result = {"source": options.source, "target": options.target, "size_bytes": size, "flows": len(flows), "answered": len(flows) - len(waiting)}
    print(json.dumps(result))
    return 0


def _mtu(flow, netdev):
    """The netdev's own MTU: that of the route is what the path itself has taught it, a fault of the path among that."""
    mtu = INTERFACE_MTU.unpack(fcntl.ioctl(flow, SIOCGIFMTU, INTERFACE_MTU.pack(netdev.encode(), 0)))[1]
    # The loopback takes more than a packet can be.
    return min(mtu, MOST_BYTES)


def _sent(flow, payload):
    """Whether the datagram fits the local MTU; what else hinders it is a flow without an answer."""
    try:
        flow.send(payload)
    except OSError as error:
        return error.errno != errno.EMSGSIZE
    return True


def _answered(waiting, length):
    """The flows whose datagram came back whole within a try."""
    found = set()
    until = time.monotonic() + TRY_SECONDS
    with selectors.DefaultSelector() as ready:
        for flow in waiting:
            ready.register(flow, selectors.EVENT_READ)
        while len(found) < len(waiting) and (left := until - time.monotonic()) > 0:
            for key, _events in ready.select(left):
                try:
                    whole = len(key.fileobj.recv(MOST_BYTES)) == length
                except OSError:
                    # No one listens there (yet): the next try may find it.
                    continue
                if whole:
                    found.add(key.fileobj)
                    ready.unregister(key.fileobj)
    return found


def fail(words):
    """Say why nothing was measured."""
    print(words, file=sys.stderr)
    return 1


def main(arguments=None):
    """Read the command line and do what it says; returns the exit status."""
    parser = argparse.ArgumentParser(prog="path_probe")
    modes = parser.add_subparsers(dest="mode", required=True)
    server = modes.add_parser("serve")
    server.add_argument("--port", type=int, required=True)
    server.add_argument("--deadline", type=int, required=True, help="seconds until it ends itself")
    server.add_argument("--address", default="")
    server.add_argument("--daemon", action="store_true")
    client = modes.add_parser("probe")
    client.add_argument("--source", required=True)
    client.add_argument("--target", required=True)
    client.add_argument("--size", type=int, required=True, help="bytes of the whole IP packet; 0 for the MTU of the netdev")
    client.add_argument("--flows", type=int, required=True)
    client.add_argument("--port", type=int, required=True)
    client.add_argument("--netdev", required=True, help="the only one by which it may leave")
    options = parser.parse_args(arguments)
    return serve(options) if options.mode == "serve" else probe(options)


if __name__ == "__main__":
    sys.exit(main())
