# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The real enroot where it is installed, with an image of nothing but this machine's /usr; elsewhere a program that answers as enroot 4.1.2 was seen to."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from pathlib import Path

from .engines import FOLDERS, LINKS

NEEDED = ("enroot", "mksquashfs", "unsquashfs", "squashfuse", "fuse-overlayfs")
# Of what enroot does: its variables are those of the image, then those of its arguments (one without a value is passed on, and empty where it is not set);
# the script that --rc names, or else the image's, is run by the shell with the command; NVIDIA's hook needs its tool; an image is a squashfs file.
ANSWERS_AS_ENROOT = r"""#!/usr/bin/python3
import os, sys
words = sys.argv[1:]
if words == ["version"]:
    print("4.1.2")
    sys.exit()
given, variables = {}, {"PATH": "/usr/bin:/bin", "NCCL_P2P_DISABLE": "1", "NVIDIA_VISIBLE_DEVICES": "all"}
words.pop(0)
while words[0].startswith("--"):
    option, value = words.pop(0), words.pop(0)
    if option == "--env":
        name, equals, text = value.partition("=")
        variables[name] = text if equals else os.environ.get(name, "")
    given[option] = value
with open(words[0], "rb") as file:
    if file.read(4) != b"hsqs":
        sys.exit("[ERROR] No such file or directory: %s" % words[0])
if variables["NVIDIA_VISIBLE_DEVICES"] != "void":
    sys.exit("[ERROR] Command not found: nvidia-container-cli, see https://github.com/NVIDIA/libnvidia-container")
os.chdir("/")
os.execve("/bin/sh", ["sh", given["--rc"], *words[1:]], variables) if "--rc" in given else print("banner of the image")
"""


class Enroot:
    """Enroot with one image."""

    name = "enroot"

    def __init__(self, place: Path) -> None:
        self.place, self.environment = place, dict(os.environ)
        self.image = str(place / "image.sqsh")
        if all(shutil.which(name) for name in NEEDED):
            self._make_image()
            return
        program = place / "enroot"
        program.write_text(ANSWERS_AS_ENROOT, encoding="utf-8")
        program.chmod(0o755)
        Path(self.image).write_bytes(b"hsqs\x13\0\0\0")
        self.environment["PATH"] = f"{place}:{os.environ['PATH']}"

    def _make_image(self) -> None:
        tree = self.place / "tree"
        for folder in FOLDERS:
            (tree / folder).mkdir(parents=True)
        for link, target in LINKS.items():
            (tree / link).symlink_to(target)
        (tree / "etc/environment").write_text("NCCL_P2P_DISABLE=1\nNVIDIA_VISIBLE_DEVICES=all\n", encoding="utf-8")
        (tree / "etc/rc").write_text("echo banner of the image\n", encoding="utf-8")
        (tree / "etc/fstab").write_text("".join(f"{own} {own} none x-create=dir,rbind,ro\n" for own in ("/usr", "/etc/alternatives")), encoding="utf-8")
        subprocess.run(["mksquashfs", tree, self.image, "-quiet", "-no-progress"], capture_output=True, timeout=60, check=True)

    def containers(self) -> list[str]:
        """Every process of a load of these tests; containers of enroot, and what mounts their images, are nothing else."""
        mark = f"GPUFABRIC_PYRAMID_LOAD={self.place.parent}".encode()
        found = []
        for one in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                found += [one.name] if any(each.startswith(mark) for each in (one / "environ").read_bytes().split(b"\0")) else []
        return found
