# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the pip bootstrap of ansible-test into its cache, from the package index: ``python tests/sanity/pip_bootstrap.py``.

ansible-test downloads this file from a site of its own, which a machine behind a mirror of the package index does not reach.
A file that is in the cache already is left as it is.
"""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import tempfile
import types
from pathlib import Path

from ansible_test._internal.python_requirements import get_venv_packages

CACHE = Path("~/.ansible/test/cache").expanduser()
TIMEOUT_SECONDS = 300
# ansible-test runs it with pip's options, the packages to install, and --no-setuptools or --no-wheel as get-pip.py knows them.
BOOTSTRAP = '''"""Installs pip {version} from the wheel in this file; written by {program}."""

import base64
import os
import sys
import tempfile

WHEEL = "{wheel}"
DATA = """{data}"""

with tempfile.TemporaryDirectory() as place:
    path = os.path.join(place, WHEEL)
    with open(path, "wb") as file:
        file.write(base64.b64decode(DATA))
    sys.path.insert(0, path)
    from pip._internal.cli.main import main

    words = [path if word.startswith("pip==") else word for word in sys.argv[1:] if word not in ("--no-setuptools", "--no-wheel")]
    code = main(["install", "--upgrade", *words])
sys.exit(code)
'''


def pip_version() -> str:
    """The release of pip that this ansible-test wants in its virtual environments."""
    return get_venv_packages(types.SimpleNamespace(version=f"{sys.version_info[0]}.{sys.version_info[1]}"))["pip"]


def write(version: str, target: Path) -> None:
    """Write the bootstrap of a release of pip; fails with pip's own words where the package index does not have it."""
    with tempfile.TemporaryDirectory() as place:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:", "--dest", place]
        subprocess.run([*command, f"pip=={version}"], check=True, timeout=TIMEOUT_SECONDS)
        wheel = next(Path(place).glob("pip-*.whl"))
        data = base64.encodebytes(wheel.read_bytes()).decode("ascii")
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f"{target.name}.{os.getpid()}")
        part.write_text(BOOTSTRAP.format(version=version, program=Path(__file__).name, wheel=wheel.name, data=data), encoding="ascii")
        part.replace(target)


if __name__ == "__main__":
    wanted = pip_version()
    place = CACHE / f"get_pip_{wanted.replace('.', '_')}.py"
    if not place.is_file():
        write(wanted, place)
