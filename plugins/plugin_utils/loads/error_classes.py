# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What part of a host an error that no table names is of, by the vocabulary of the libraries that print it: NCCL, RCCL, their plugins, CUDA, HIP, verbs."""

from __future__ import annotations

import functools
import re

from .call_errors import CALL_ERRORS
from .gpu_errors import GPU_ERRORS
from .pytorch_errors import PYTORCH_ERRORS
from .result_numbers import with_words
from .types import ErrorClass

# What comes after it in an error of PyTorch is the last warning of NCCL, which says what failed; everything before it only says that NCCL failed.
LAST_ERROR = re.compile(r"Last error:[ \t]*\n?(?P<line>[^\n]*)")
# The lines that PyTorch adds to every error of the GPU or of C++.
BOILERPLATE = re.compile(
    r"^\s*(?:Exception raised from |frame #\d|CUDA kernel errors might|For debugging consider|Compile with `|Search for `|Traceback |ncclResult|$)"
)
# PyTorch begins each line of a rank that ended with its number.
SPEAKER = re.compile(r"^\[\w*rank\s?\d+\]: ")
# The words of PyTorch and NCCL for the kind of a result. Where an error has no others, it does not say what failed.
RESULT_WORDS = re.compile(
    r"(?:[\w.]*\b\w+Error: )?NCCL [Ee]rror(?: in| \d+)?:(?: \S+\.[ch]pp:\d+,)?|unhandled (?:system|cuda) error|"
    r"\(run with NCCL_DEBUG=\w+ for details\)|NCCL version [\w.+]+|internal error(?: - please report this issue to the NCCL developers)?|"
    r"This usually reflects invalid usage of NCCL library|Invalid value for an argument|invalid (?:usage|argument)|nccl(?:System|UnhandledCuda|"
    r"Internal)Error|ncclInvalid(?:Usage|Argument)|"
    r"System call \([^)]*\)(?: or external library call)? failed(?: or device error)?|Call to CUDA(?: or HIP)? function failed|[Ii]nternal check failed"
)
SOCKETS = "sockets"
# The first that matches is the one. The patterns are of the formats of NCCL's warnings from 2.18 to 2.30, of RCCL's, of aws-ofi-nccl's and of perftest's.
ERROR_CLASSES: tuple[ErrorClass, ...] = (
    ErrorClass(
        "crash",
        r"[Ss]egmentation fault|[Bb]us error|[Ii]llegal instruction\b(?! was)|core dumped|Floating point exception|ended by signal (?:4|6|7|8|11)\b",
        "The program crashed: a library or driver that it uses accessed memory that is not its own, or aborted.",
        "Look in the kernel's log of that time for segfault, trap and Xid, which name the library or GPU; compare driver, libraries and the program's build "
        "with a good host's; coredumpctl or gdb shows the call.",
    ),
    *PYTORCH_ERRORS,
    *GPU_ERRORS,
    *CALL_ERRORS,
    ErrorClass(
        "GDRCopy",
        r"\bgdr_(?:open|pin|map)\w*|\bgdrdrv\b|GDRCOPY",
        "GDRCopy, by which the processor writes to the GPU's memory, does not start: its module gdrdrv is not loaded, or the container has no /dev/gdrdrv.",
        "Compare lsmod | grep gdrdrv and ls -l /dev/gdrdrv on the host and inside the job with a good host's; NCCL runs without it (NCCL_GDRCOPY_ENABLE=0).",
    ),
    ErrorClass(
        "gid",
        r"RoceGetVersionNum|\bGID\b|gid_attrs|\bgid\b",
        "An entry of the NIC's GID table could not be read or used: entries that are empty inside a container (macvlan, SR-IOV), an address that came late, or "
        "another index or family than on the other hosts.",
        "Compare show_gids inside the job with a good host's and with pod_gid_index; set NCCL_IB_GID_INDEX to the RoCE v2 entry of the rail's address, or use "
        "a release that passes over empty entries.",
    ),
    ErrorClass(
        "provider",
        r"libfabric:\S*:efa:(?:cq|ep_data):|(?:NET/OFI|(?i:request))\b.*(?:completed with error|insert remote address|prov_err)|prov_err(?:no)?\b|"
        r"Unable to insert remote address",
        "A request of the network plugin ended with an error of its provider (libfabric): what the two hosts send to each other is refused or lost (a security "
        "group that does not admit its own hosts, a firewall, a path), or the peer had ended.",
        "In a cloud let the security group admit all traffic from and to itself, in both directions; run the provider's own test between the two hosts "
        "(fi_pingpong, fi_rma_bw); FI_LOG_LEVEL=warn prints the provider's own line beside this one.",
    ),
    ErrorClass(
        "networking of kernels",
        r"\bGIN\b|\bRMA\b|[Ss]ymmetric memory|[Mm]ultimem|MemManager",
        "NCCL did not give the program what its own kernels need to send by themselves (GIN, RMA, symmetric memory), which collectives do without: a NIC, "
        "driver or plugin that does not have it, NICs that NCCL fuses, GPUs that are not joined alike, or a variable that turns it off.",
        "Compare NCCL's release, its network plugin and NCCL_GIN_ENABLE, NCCL_GIN_TYPE, NCCL_IB_MERGE_NICS, NCCL_CUMEM_ENABLE and NCCL_CROSS_NIC with those "
        "of a host on which it runs, and gpudirect_available of layer 0; NCCL_DEBUG=INFO with NCCL_DEBUG_SUBSYS=INIT,NET says why it is not there.",
    ),
    ErrorClass(
        "plugin",
        r"NET/OFI|(?:NET|TUNER|PROFILER|ENV)/Plugin|\b[Pp]lugin\b|\bdl(?:open|v?sym|error)\b|NCCL library is|too old version of NCCL|libfabric|\bfi_\w+",
        "A plugin of NCCL, or a library that it stands on, did not load, or does not fit NCCL, the driver or the devices of this host.",
        "Compare the plugin's, libfabric's and NCCL's versions and LD_LIBRARY_PATH inside the job with a good host's; NCCL_NET_PLUGIN=none shows whether the "
        "rest is in order.",
    ),
    ErrorClass(
        "NVLink between hosts",
        r"MNNVL|\bIMEX\b|FABRIC\b|fabric (?:handle|state|manager)",
        "NVLink or its fabric did not serve this host's GPUs: nvidia-imex or the fabric manager does not run, or is of another version or configuration.",
        "Look at systemctl status nvidia-imex and nvidia-fabricmanager and at nvidia-smi -q (Fabric) of this host; see imex_ready and fabric_state of layer 0.",
    ),
    ErrorClass(
        "NVSHMEM",
        r"(?i:nvshmem)\w*|\bIBGDA\b|\bib(?:rc|gda)\.cpp",
        "NVSHMEM did not start on this host: a transport of it (IBRC, IBGDA) lacks devices or rights in the job's container or an option of the GPU driver, or "
        "the hosts did not find each other at its bootstrap.",
        "Read its first line before this one; compare /dev/infiniband, the container's rights, nvidia_peermem, gdrdrv and NVSHMEM's variables "
        "(NVSHMEM_HCA_LIST, NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME) with a good host's.",
    ),
    ErrorClass(
        "topology",
        r"\bXML\b|\b[Tt]opo(?:logy)?\b|TOPO/|ncclTopo|Attribute \S+ of node|real path|reverse path|rev link|No path computed|"
        r"[Cc]ould(?: not|n't) find (?:a |any |the )?(?:NET|NIC|GPU|CPU|PCI|DEV|node|net|gpu|id|local path|path|intermediate)\b|"
        r"too many (?:Topo|XML|DEV|nodes)|numa ID|[Hh]ost ?[Hh]ash|[Bb]us ?[Ii][Dd]|loop back to start|does not contain rank|NVLINK connected|"
        r"merge (?:too many )?NICs|No transport found|/sys/(?:class|bus|devices)",
        "The library could not work out how this host's GPUs, NICs and PCI bus are joined, its topology: files below /sys that a virtual machine or container "
        "lacks or shows in part, a part of the GPUs that NVLink or XGMI joins, or a topology file (NCCL_TOPO_FILE, NCCL_GRAPH_FILE, a plugin's own) that "
        "lacks something or is of another machine.",
        "Compare what NCCL_TOPO_DUMP_FILE writes, nvidia-smi topo -m (rocm-smi --showtopo) and ls /sys/class/pci_bus inside the job with a good host's; "
        "correct or remove the file that NCCL_TOPO_FILE names; give a guest or container whole groups of joined GPUs.",
    ),
    ErrorClass(
        "agreement",
        r"[Mm]ismatch(?!s with NCCL device)|[Tt]runcated|\d bytes instead of|identical|not all ranks|differs? from|mixed local|already checked in|"
        r"incompatible (?:devices|with the local)",
        "The ranks of the run do not agree with each other: another version, variable, number of NICs or kind of NIC on one host, or ranks of two jobs that "
        "met at one port.",
        "Compare NCCL's version, its variables and the list of NICs at the beginning of each host's log (nccl_runtime, all_rails_used); give the job a port "
        "of its own.",
    ),
    ErrorClass(
        "verbs",
        r"NET/(?:IB|MLX5)|\bibv_\w+|\bib_\w+ failed|mlx5\w*|bnxt_re|\bionic|irdma|\bQPs?\b|queue pair|\brdma_\w+|DOCA|[Cc]ompletion (?:from|with)|"
        r"Couldn't (?:create|allocate|get|post|open|attach|query|request)|\b(?:MR|PD|CQ|SRQ|AH)\b",
        "A call of the RDMA library or of the NIC's driver failed, or work that the NIC was given ended with an error.",
        "Read the kernel's log of this host for its NIC at that time (mlx5, bnxt, ionic); compare ibv_devinfo -v, ulimit -l, rdma resource show, driver and "
        "firmware with a good host's; then run layer 4 for the rail that the line names.",
    ),
    ErrorClass(
        "credentials",
        r"ExpiredToken\w*|InvalidAccessKeyId|SignatureDoesNotMatch|InvalidClientTokenId|ExpiredSignature|[Tt]oken (?:has|is) expired|(?:Default|No|Partial)"
        r"CredentialsError|Unable to locate credentials|Reauthentication is needed|invalid_grant",
        "A service of storage does not accept the credentials that the program has: they expired while it ran, since a session of hours was given a token for "
        "less, or are missing on this host or those of another account.",
        "See how long the token lives and who renews it (aws sts get-caller-identity, the role of the host or of its service account, IMDS from inside the "
        "container); give the job credentials that the client renews itself, and no copy of a token in its environment.",
    ),
    ErrorClass(
        "too many requests",
        r"\bSlowDown\b|Too Many Requests|Throttling(?:Exception)?\b|RequestLimitExceeded|ServerBusy|reduce your request rate",
        "A service outside the pod refused requests since it had too many at once: all ranks read or write the same bucket or hub in the same step.",
        "Let fewer ranks ask at once and others later (retries with a pause that grows), spread objects over prefixes, or let one rank of each host fetch for "
        "all of it; ask for a higher limit.",
    ),
    ErrorClass(
        "service outside the pod",
        # The exceptions themselves: what a client logs of an attempt that it repeats ends nothing.
        r"(?:^|: )(?:[a-z_][\w.]*\.)?(?:(?:HfHub)?HTTPError|SSL(?:CertVerification)?Error|MaxRetryError|CommError|(?:Gated|Disabled)RepoError|"
        r"RepositoryNotFoundError|LocalEntryNotFoundError|(?:Connect|Read)Timeout)\b",
        "A service outside the pod (a hub of models, a log of experiments, an object store) did not give this host what the program asked it for: too many "
        "requests at once (429), no token or a wrong one (401, 403), no way out (proxy, firewall, DNS), or a certificate that the host's clock or its list of "
        "authorities does not accept.",
        "From this host ask the address of the line by hand (curl -v) with the job's proxy and token, and compare its clock (timedatectl) and "
        "ca-certificates with another one's; let one host fetch it before the job to a file system that all share, and run the job offline "
        "(HF_HUB_OFFLINE=1, WANDB_MODE=offline).",
    ),
    ErrorClass(
        SOCKETS,
        r"[Bb]ootstrap|[Ss]ocket|\bNet : |\b[Aa]ccept\w* fail|[Cc]onnect(?:ion)? to\b|tcp://|[Rr]endezvous|NCCL_COMM_ID|\bc10d\b|"
        r"Dist(?:Store|Network)Error|(?:clients|workers) joined|store_based_barrier|connectFullMesh",
        "The ranks did not connect to each other over TCP, which they do before any NIC is used: an interface or address that other hosts do not reach, a "
        "firewall, or a port that something else uses.",
        "Compare NCCL_SOCKET_IFNAME and ip address inside the job with a good host's; try the address and port of the line from both ends; see firewalls and "
        "pod_bootstrap_address.",
    ),
    ErrorClass(
        "GPU call",
        r"(?i)\b(?:cuda|hip|rocm|rocblas|hipblas|nvml\w*|cudnn|cublas\w*|nvrtc|gdrcopy|gdr_\w+|h[s]a\w*)\b.*(?:fail|error|not |invalid|unknown)|"
        r"CU(?:DA|BLAS|DNN)_\w+|"
        r"hipError\w+|CUMEM",
        "A call of the GPU's driver or of its libraries failed: driver, libraries (image, LD_LIBRARY_PATH) and GPU do not fit, a GPU is in a bad state, or an "
        "earlier error of the same GPU is reported here.",
        "Look for Xid (of AMD amdgpu) in the kernel's log of that time and at nvidia-smi -q (amd-smi) of that GPU; compare driver, libraries and image with a "
        "good host's; CUDA_LAUNCH_BLOCKING=1 (AMD_SERIALIZE_KERNEL=3) shows which call failed first.",
    ),
    ErrorClass(
        "memory of the host",
        r"MemoryError|bad_alloc|[Ff]ailed to (?:\w+ ){0,2}(?:m|c|re)?alloc|[Aa]llocation failed|returned null|[Oo]ut of memory",
        "The host or container gave the program no more memory.",
        "Look at free -g, the memory limit of the job or container and oom-kill in the kernel's log of that time, and at what else runs on the host.",
    ),
    ErrorClass(
        "helper of NCCL",
        r"\bopId\b|\[?Proxy\b|Service thread|ncclProxy",
        "NCCL's own helper thread on this host did not get what a rank asked of it: the reason is a line before this one, of this host or of the rank that it "
        "names.",
        "Read NCCL's log of this run from its first warning (no_nccl_warnings), and what the rank that the line names ended with.",
    ),
    ErrorClass(
        "file",
        r"Unpickling|UnicodeDecodeError|mmap length is greater|cannot mmap an empty file|"
        r"EOFError|JSONDecode|unexpected (?:EOF|end of)|[Cc]orrupt(?!ed comm object)|[Cc]hecksum|central directory|BadZip|[Hh]eader ?[Tt]oo|"
        r"SafetensorError|Arrow\w+|"
        r"(?:not enough|truncated) data",
        "A file that the program read is cut or damaged: a checkpoint or piece of the dataset that was not written to its end, or a copy of it on this host.",
        "Compare size and checksum of the file that the line names with another host's, look at the storage's client in the kernel's log, and take the "
        "checkpoint before it.",
    ),
    ErrorClass(
        "numbers",
        r"(?i:\b(?:loss|gradients?|grad_?norm|weights?|norm)\b.{0,40}?(?:\bnan\b|\binf(?:inity|inite)?\b|\bnot finite|\bnon-?finite))|"
        r"(?i:\b(?:nan|inf)\b.{0,20}\bloss\b)|\bFloatingPointError\b",
        "The training's loss or gradients are no longer numbers: the learning rate or precision let them overflow, the data has such values, or a GPU computes "
        "wrong values. Collectives bring them to all ranks, so who prints it is not who made it.",
        "Run the same steps again from the checkpoint before it, on other hosts: where it comes with the same batch it is data or settings; where it comes "
        "with one host, see collectives_correct, look for ECC errors and Xid, and run the vendor's GPU diagnostics there.",
    ),
    ErrorClass(
        "setting of NCCL",
        r"no algorithm/protocol available|Unrecognized element token|[Ii]nvalid value .*\bNCCL_|\bNCCL_\w+.*(?:[Ii]nvalid|not (?:valid|supported|recognized))",
        "A variable of NCCL (NCCL_ALGO, NCCL_PROTO or the one that the line names) has a value that this release does not know, or that leaves it no "
        "way for this collective, type or number of GPUs.",
        "Compare NCCL's variables in the job's environment and /etc/nccl.conf with a good host's (nccl_runtime), and correct or remove the value in the line.",
    ),
    ErrorClass(
        "program",
        r"corrupted comm object|allocated on device \d+ mismatch|argument is NULL|not a valid pointer|re-initialize CUDA in forked|"
        r"[Ii]nvalid (?:root|type|reduction|rank|device count|config|operation)|ncclGroup|revoked|already been destroyed|"
        r"\b(?:Key|Attribute|Type|Value|Index|NotImplemented|Assertion|ZeroDivision|Name|Syntax)Error\b",
        "The program itself, or its settings, made an error that no network, NIC or GPU makes: another version, image or configuration on this host.",
        "Compare image, version and settings of the program with a host on which it ends well, and read its own output before this line.",
    ),
    ErrorClass(
        "exit status",
        r"\bexited with status \d+$",
        "The process ended itself with this status, and printed no error: the program's own exit, or one whose output went elsewhere.",
        "Read the rank's own log on this host (torchrun --log-dir --tee 3 keeps one for each rank), and look up this status in the program.",
    ),
)
# Of errors that say no more than the kind of a result.
RESULT_CLASSES: tuple[ErrorClass, ...] = (
    ErrorClass(
        "system call",
        r"ncclSystemError|unhandled system error",
        "A call of the system or of a library failed within NCCL on this host.",
        "Read NCCL's warnings of this host (no_nccl_warnings, NCCL_DEBUG=WARN): they name the call.",
    ),
    ErrorClass(
        "GPU call of NCCL",
        r"ncclUnhandledCudaError|unhandled cuda error",
        "A call of the GPU's driver failed within NCCL on this host.",
        "Read NCCL's warnings of this host (no_nccl_warnings, NCCL_DEBUG=WARN), which name the call, and look for Xid in its kernel's log of that time.",
    ),
    ErrorClass(
        "NCCL's own check",
        r"ncclInternalError|internal error|ncclInvalid(?:Usage|Argument)|invalid usage",
        "NCCL refused what it found on this host, or what it was asked: its topology, its variables, or ranks that do not agree.",
        "Read NCCL's warnings of this host (no_nccl_warnings, NCCL_DEBUG=WARN), and compare version, variables and topology with a good host's.",
    ),
)


def decisive_part(text: str) -> str:
    """The line of an error that says what failed: what PyTorch quotes as NCCL's last error, else its first line that is no boilerplate."""
    quoted = LAST_ERROR.search(text)
    if quoted and quoted["line"].strip() and not BOILERPLATE.match(quoted["line"]):
        return quoted["line"].strip()
    before = text[: quoted.start()] if quoted else text
    return next((line.strip() for line in before.splitlines() if not BOILERPLATE.match(line)), text.strip())


def without_boilerplate(text: str) -> str:
    """An error of several lines without those that PyTorch adds to every one, which name what may be tried and not what failed; all of one without others."""
    lines = text.splitlines()
    return "\n".join(line for line in lines if not BOILERPLATE.match(line)) or text if len(lines) > 1 else text


def says_only_a_result(text: str) -> bool:
    """Whether an error of NCCL says no more than the kind of its result, so that only NCCL's log has the reason."""
    line = decisive_part(text)
    rest, found = RESULT_WORDS.subn("", SPEAKER.sub("", line))
    return found > 0 and not re.search(r"[A-Za-z]{3}", rest)


def specific_class(text: str) -> ErrorClass | None:
    """The class of a text that names a code of a GPU's libraries or a call of verbs, whichever program prints it; None of any other."""
    worded = with_words(text)
    return next((one for one in (*GPU_ERRORS, *CALL_ERRORS) if re.search(one.pattern, worded)), None)


@functools.lru_cache(maxsize=4096)
def error_class(text: str) -> ErrorClass | None:
    """The class of an error by the line of it that decides; None where its vocabulary is of none."""
    line = with_words(decisive_part(text))
    classes = RESULT_CLASSES if says_only_a_result(text) else ERROR_CLASSES
    return next((one for one in classes if re.search(one.pattern, line)), None)
