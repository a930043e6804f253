"""Makes a wheel of this project for the Python that runs it: what pip calls (PEP 517), by CMake and without network.

The wheel holds the package work_queue, its name in CCTools, ndcctools, the commands that managers need beside them, the
scripts of batch systems, and work_queue_serverize.
WORK_QUEUE_BUILD names a folder that is built already; else build/wheel is built.
"""

import base64
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[4]
COMMANDS = ("work_queue_worker", "work_queue_factory", "work_queue_run", "work_queue_launcher")
PACKAGES = ("work_queue", "ndcctools")
MODULES = ("_core", "_core_mpi")
SHARED_MODULE = "src/node/calls/unpicklable.py"  # of the package and of the script that workers run
INSTALLED = ("scripts", "src/functions/coprocess")  # folders whose files are installed as they are
TARGETS = ("wq_python_core", "wq_python_core_mpi", *COMMANDS)


def get_requires_for_build_wheel(config_settings=None):
    return []


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    build = pathlib.Path(os.environ.get("WORK_QUEUE_BUILD") or compiled())
    name = f"work_queue-{project('version')}"
    file = f"{name}-{tag()}.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, file), "w", zipfile.ZIP_DEFLATED) as wheel:
        Wheel(wheel, name).fill(build)
    return file


def compiled():
    """Builds what the wheel needs."""
    missing = [tool for tool in ("cmake", "c++") if shutil.which(tool) is None]
    if missing:
        sys.exit(f"{missing[0]} is missing: scripts/quickstart installs what the build needs (Debian)")
    build = ROOT / "build" / "wheel"
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    subprocess.run(["cmake", "-S", ROOT, "-B", build, *generator, "-DWQ_UNITY=ON", "-DWQ_PYTHON=ON", "-DWQ_BENCHMARKS=OFF",
                    f"-DPython3_EXECUTABLE={sys.executable}"], check=True)
    subprocess.run(["cmake", "--build", build, "-j", str(os.cpu_count()), "--target", *TARGETS], check=True)
    return build


def project(field):
    """A text field of pyproject.toml, or a list of one, which Python 3.9 cannot read otherwise."""
    return re.search(rf'^{field} = \[?"(.*?)"\]?$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE).group(1)


def tag():
    version = "cp%d%d" % sys.version_info[:2]
    return f"{version}-{version}{sys.abiflags}-" + re.sub(r"[-.]", "_", sysconfig.get_platform())


class Wheel:
    """A zip file with a list of its files (PEP 427)."""

    def __init__(self, wheel, name):
        self.wheel = wheel
        self.name = name
        self.record = []

    def fill(self, build):
        source = ROOT / "src" / "bindings" / "python"
        for package in PACKAGES:
            for file in sorted(file for kind in ("*.py", "*.pyi", "py.typed") for file in (source / package).glob(kind)):
                self.add(str(file.relative_to(source)), file.read_bytes())
        self.add("work_queue/unpicklable.py", (ROOT / SHARED_MODULE).read_bytes())
        for module in MODULES:
            file = build / "python" / "work_queue" / (module + sysconfig.get_config_var("EXT_SUFFIX"))
            if not file.exists():
                sys.exit(f"{build} has no module for Python {sys.version.split()[0]}: {file} is missing")
            self.add("work_queue/" + file.name, stripped(file), 0o755)
        self.add(f"{self.name}.data/scripts/work_queue_python", (source / "work_queue_python").read_bytes(), 0o755)
        for command in COMMANDS:
            file = build / "bin" / command
            if not file.exists():
                sys.exit(f"{build} has no {command}: build it, or leave WORK_QUEUE_BUILD unset")
            self.add(f"{self.name}.data/scripts/{command}", stripped(file), 0o755)
        with tempfile.TemporaryDirectory() as prefix:
            for folder in INSTALLED:
                subprocess.run(["cmake", f"-DCMAKE_INSTALL_PREFIX={prefix}", "-P", build / folder / "cmake_install.cmake"],
                               check=True, stdout=subprocess.DEVNULL, env={**os.environ, "DESTDIR": ""})
            self.add_installed(pathlib.Path(prefix))
        information = f"{self.name}.dist-info/"
        self.add(information + "LICENSE", (ROOT / "LICENSE").read_bytes())
        self.add(information + "METADATA", metadata().encode())
        self.add(information + "WHEEL", f"Wheel-Version: 1.0\nGenerator: work_queue\nRoot-Is-Purelib: false\nTag: {tag()}\n".encode())
        self.record.append(information + "RECORD,,")
        self.write(information + "RECORD", "\n".join(self.record).encode() + b"\n", 0o644)

    def add_installed(self, prefix):
        """All files of a prefix: its commands as scripts, the others as data, which installers put below their prefix."""
        for file in sorted(file for file in prefix.glob("**/*") if file.is_file()):
            place = file.relative_to(prefix)
            if file.is_symlink():  # a wheel has none
                target = (file.parent / os.readlink(file)).resolve().relative_to(prefix.resolve())
                text = f'#!/bin/sh\nexec "$(dirname -- "$(readlink -f -- "$0")")/../{target}" "$@"\n'.encode()
            else:
                text = file.read_bytes()
            where = f"scripts/{file.name}" if place.parts[0] == "bin" else f"data/{place}"
            self.add(f"{self.name}.data/{where}", text, 0o755 if os.access(file, os.X_OK) else 0o644)

    def add(self, name, data, mode=0o644):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(data)}")
        self.write(name, data, mode)

    def write(self, name, data, mode):
        entry = zipfile.ZipInfo(name)
        entry.external_attr = (0o100000 | mode) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self.wheel.writestr(entry, data)


def stripped(file):
    """Without the lines of the source, which are most of it."""
    with tempfile.NamedTemporaryFile() as copy:
        subprocess.run(["strip", "--strip-unneeded", "-o", copy.name, file], check=True)
        return pathlib.Path(copy.name).read_bytes()


def metadata():
    return (f"Metadata-Version: 2.1\nName: {project('name')}\nVersion: {project('version')}\nSummary: {project('description')}\n"
            f"License: Apache-2.0\nLicense-File: LICENSE\nRequires-Python: {project('requires-python')}\nRequires-Dist: {project('dependencies')}\n"
            f"Description-Content-Type: text/markdown\n\n{(ROOT / 'README.md').read_text()}")
