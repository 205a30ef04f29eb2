# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors of connections, with which ranks end or of which NCCL warns: their cause may be at either end or on the way."""

from __future__ import annotations

from .types import RankError

# The first that matches is the one: what is specific stands before what follows from it.
CONNECTION_ERRORS: tuple[RankError, ...] = (
    RankError(
        r"Got async event ?: (?:GID|P_?Key)\w* ?(?:table )?change",
        False,
        "An address of the rail was added, removed or assigned again while the job ran (a DHCP lease, NetworkManager, a link that went down and "
        "up): connections keep the entry of the GID table that they had.",
        "Look at that time in the log of systemd-networkd or NetworkManager and at links_under_load; give the rail a static address; see gid_index "
        "and address_plan.",
    ),
    RankError(
        r"Got async event ?: (?:port (?:error|down)|link down)",
        False,
        "The rail's link went down while the job ran.",
        "Look at links_under_load and link_flaps of that rail, at its optic and cable, and at the port of its leaf at that time.",
    ),
    RankError(
        r"Got async event ?: .*fatal",
        True,
        "The NIC's firmware reported a fatal error and ended its connections.",
        "Look at the kernel's log (health compromised, Fatal error), collect the firmware's dump (devlink health), power-cycle the host, and update "
        "or replace the NIC.",
    ),
    RankError(
        r"Heartbeat monitor timed out|atchdog got stuck for|due to ProcessGroupNCCL watchdog hang",
        False,
        "PyTorch's watchdog of this rank got no answer itself: a call of NCCL or CUDA did not come back, or another thread held Python's lock in one. Where "
        "one rank alone has it, its GPU, driver or NIC hangs; where all have it, they wait for each other or for one that had ended.",
        "Begin with the rank that has it alone, or that had ended before: Xid in the kernel's log, nvidia-smi, py-spy dump --native; else compare the last "
        "collective of each rank (the flight recorder) and the release of NCCL.",
    ),
    RankError(
        r"\bDeepEP (?:error\b.*\btimeout|\w+ .*\btimeout\b)",
        False,
        "A rank of DeepEP waited in vain for tokens of another one, and its kernel ended itself; CUDA reports that as a launch failure of this GPU, which it "
        "is not. Another rank was late or had ended, or the path to it (NVLink, or RDMA by NVSHMEM or NCCL) carries nothing.",
        "Begin with the rank that others name as source (src RDMA is the number of its host, src nvl of its GPU) or that ended with something else; run "
        "layer 4 for the rails between these hosts, compare NVSHMEM's variables, and look at links and drops at that time.",
    ),
    RankError(
        r"port is used by SM\b",
        True,
        "A subnet manager runs on this port of the host, and SHARP takes no port that a subnet manager uses; without it switches aggregate for none of the "
        "job's hosts.",
        "Move the subnet manager to a host or port that carries no job (UFM, a switch, a management node; opensm -g GUID), or take the port out of the job's "
        "(NCCL_IB_HCA); then run the layer again.",
    ),
    RankError(
        r"NET/OFI\b.*completed with error.*(?:\berr: 113\b|No route to host)",
        False,
        "EFA drops what one of the two hosts sends to the other: their security groups do not admit all traffic of their own group in both directions.",
        "Give both hosts a security group with a rule for all traffic from itself and one for all traffic to itself, each with the group as source and target, "
        "and not an address range; then run fi_pingpong -p efa between the two.",
    ),
    RankError(
        r"SHARP|[Ss]harp_|CollNet",
        False,
        "Switches do not aggregate: the aggregation manager (sharp_am) does not run, has no resource left for a job of this size, or refuses these ports.",
        "Look at sharp_am's status and log beside the master subnet manager, at the trees and quotas that other jobs hold, and at NCCL_COLLNET_ENABLE.",
        worded=True,
    ),
    RankError(
        r"[Mm]ismatched NCCL version|NCCL version mismatch",
        False,
        "The ranks of the run have different versions of NCCL, and cannot set up a communicator: an image or library path differs on one host.",
        "Compare the NCCL version that each host's log begins with (nccl_runtime), and give all hosts one image and one LD_LIBRARY_PATH.",
    ),
    RankError(
        r"collective mismatch error|Mismatched collective|Message truncated",
        False,
        "The ranks of the run do not agree on a collective: variables or software differ between hosts, or a NIC's firmware forces relaxed ordering.",
        "Compare NCCL's version and variables of all hosts (nccl_runtime), and PCI_WR_ORDERING of their NICs, which is per_mkey(0) by default (nic_settings).",
    ),
    RankError(
        r"local GID fe80",
        True,
        "NCCL sends with the GID of a link-local address (fe80::), which no switch routes: NCCL_IB_GID_INDEX or the order of GIDs is wrong here.",
        "Compare show_gids with pod_gid_index; remove NCCL_IB_GID_INDEX, or set it to the RoCE v2 GID of the rail's address; see gid_index of layer 0.",
    ),
    RankError(
        r"ibv_modify_qp\b.*No such device",
        True,
        "The rank's container has the RDMA device and not the netdev of its GID: the two are in different network namespaces.",
        "Give the container the netdev beside its device (host network, SR-IOV or macvlan with the RDMA CNI, rdma system set netns exclusive), and compare "
        "show_gids inside it with the host's.",
    ),
    RankError(
        r"ibv_modify_qp\b.*failed",
        False,
        "A queue pair did not reach its partner: no route between the two GIDs that the error names (rails without a route between each other, another GID "
        "index or family), or the partner's port is down.",
        "Ping from the local GID's address to the remote one's. On different rails NCCL_CROSS_NIC=0 keeps each rail to itself; else compare show_gids of both "
        "hosts with pod_gid_index.",
    ),
    RankError(
        r"\bConnectionRefusedError\b|ConnectionPool\(host=|NewConnectionError|\bexceptions\.\w*(?:Connection|Timeout)\w*\b.*connect",
        False,
        "Nothing listens or answers at an address that the program itself connects to from Python (a service of data, logs, models or scheduling), or a "
        "firewall refuses it. The connections between ranks are not made so.",
        "See in the traceback above this line which address it is; connect to it by hand from this host and from another one (nc -vz), and see whether its "
        "service runs.",
    ),
    RankError(
        # What ssh says of its port is a launcher's.
        r"(?i)connect to \S+ ?(?:<\d+>)? ?failed|socketStartConnect|(?<!port 22: )(?:connection refused|no route to host)",
        False,
        "A rank could not connect to the address that another one announced: NCCL_SOCKET_IFNAME or the order of interfaces chose one that other hosts do not "
        "reach (docker0, a private network), or a firewall refuses the connection.",
        "See which host has the address of the error, set NCCL_SOCKET_IFNAME there to the interface that all hosts share, and compare firewalls.",
    ),
    RankError(
        r"\b(\d+)/(?!\1\b)\d+ (?:clients|workers) joined",
        False,
        "Not all that were expected came to the first host in time, which the line counts: a host whose job was not started, failed before, or does not reach "
        "the first host's address and port.",
        "Begin with the host whose own output has another error, or none at all; try the first host's address and port from there; see pod_bootstrap_address "
        "and the firewall of the first host.",
    ),
    RankError(
        r"Failed to initialize any NET plugin",
        True,
        "NCCL found no network that it may use on this host: NCCL_NET names one that it lacks (IB without an RDMA device that is seen inside the job, a plugin "
        "that is not in the image), or NCCL_IB_HCA leaves none of its NICs.",
        "Run ibv_devices inside the job and compare NCCL_NET, NCCL_NET_PLUGIN, NCCL_IB_HCA and NCCL_IB_DISABLE with a good host's (nccl_runtime); give a "
        "container /dev/infiniband; NCCL_DEBUG=INFO names each network and why it was not taken.",
    ),
    RankError(
        r"TCPStore|C10d store has failed|Rendezvous(?:Connection|Timeout)Error|client socket has timed out|"
        r"failed to connect to .*(?:MASTER|master)|The server socket has failed",
        False,
        "The ranks did not meet at the first host: its name or address is not reached from here, its port is refused or in use.",
        "Try the address and port of the error from this host; see pod_bootstrap_address, name resolution and the firewall of the first host.",
        worded=True,
    ),
    RankError(
        r"[Gg]ot completion .*(?:status=5|error 5)\b|vendor err 249\b",
        False,
        "The work of this queue pair was flushed: it says that an error came before it, not which.",
        "Look for the first error of the run on this host and on the peer that it names.",
        follows=True,
    ),
    RankError(
        r"got signal: (?:2|15)\b",
        False,
        "What started the training on this host was ended from outside (signal 2 or 15): by an operator, a scheduler or a launcher, at a time limit or for the "
        "sake of another host that had ended.",
        "Begin with the host that ended with something else; else see in the log of the scheduler or launcher of that time who ended the job and why.",
        follows=True,
    ),
    RankError(
        r"NCCL communicator was aborted",
        False,
        "PyTorch's watchdog had aborted this rank's communicator before the call, since another rank did not come to a collective or had ended.",
        "Begin with the rank that did not come, or that ended first; of this one see what its watchdog logged as the reason.",
        follows=True,
    ),
    RankError(
        r"\brank \d+ died from signal 15\b",
        False,
        "PALS (mpiexec under PBS) ended this rank with signal 15 after another one had ended.",
        "Begin with the host that ended with something else.",
        follows=True,
    ),
    RankError(
        r"mismatch in rank count from procs",
        False,
        "Ranks came to NCCL's bootstrap with two different numbers of ranks, which the line names: they were started with another WORLD_SIZE (number of hosts "
        "or of ranks a host), or two jobs meet at one address and port. The first rank prints it, and it does not show which rank differs.",
        "Compare WORLD_SIZE, RANK, --nnodes and --nproc-per-node of all hosts as their ranks have them, and the number of GPUs that each sees; give each job a "
        "port of its own (MASTER_PORT).",
    ),
    RankError(
        r"JAX distributed service detected fatal errors|stopped sending heartbeats|The tasks have crashed\. Check the task logs",
        False,
        "JAX's coordination service had no heartbeat of another task, and ended all others: the process of that task hung, was killed or ended, or its host "
        "was lost.",
        "Begin with the host of the task that the line names: uptime, its kernel's log (Xid, oom-kill), where its process waits (py-spy dump); "
        "heartbeat_timeout_seconds of jax.distributed.initialize is how long a pause may be.",
        follows=True,
    ),
    RankError(
        r"Timed out waiting \d+ ?ms for (?:recv|send) operation",
        False,
        "Another rank did not take part within the time that this one waits: it is stuck or ended, or the connection to it, over TCP, carries nothing.",
        "Begin with the rank that says something else, or with the host that says nothing (its kernel's log, the stack of its process); else compare addresses "
        "and firewalls of the hosts for the interface of GLOO_SOCKET_IFNAME.",
        follows=True,
    ),
    RankError(
        r"Connection closed by|Socket recv failed while polling for opId|[Cc]onnection was (?:forcibly )?(?:closed|reset)|"
        r"Broken pipe|Connection reset|remote process exited|ncclRemoteError|"
        r"failed to recv, got 0 bytes",
        False,
        "Another rank closed its connection: it ended first, and this one ended for its sake.",
        "Look at the rank or host that the error names, and at what it ended with.",
        follows=True,
    ),
)
