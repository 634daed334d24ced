#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_wheel.py - a wheel of the package diffsim from an installation that lies in a folder (`make wheel`).

The wheel has everything inside: the package, and in diffsim/native/ the programs, libdiffsim, the plugins, headers,
pkg-config files and the libraries that they need, found relative to each other, so that it works wherever pip puts it.
Nothing but Python, patchelf, readelf and strip is needed.

    make_wheel.py --stage DIR --prefix PREFIX --package python/diffsim --version 0.1.0 --out dist
"""
import argparse
import base64
import hashlib
import json
import keyword
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

# What every Linux of manylinux has, or what must not come twice into a process: the C library, the compiler's runtime.
SYSTEM = re.compile(r"(lib(c|m|dl|rt|pthread|util|resolv|nsl|gcc_s|stdc\+\+)\.so|ld-linux)")
NAME, DISTRIBUTION = "diffsim-global", "diffsim_global"  # "diffsim" on PyPI is another project; the module is diffsim
FONTS = Path("/usr/share/fonts/truetype/dejavu")
FONTS_CONF = '''<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<!-- For machines without fontconfig: the font of the pictures. -->
<fontconfig>
  <dir prefix="relative">fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
'''
LAUNCHER = '''# SPDX-License-Identifier: Apache-2.0
"""Starts the dshost of this package: what pip installs as the command `dshost`."""
import os
import sys


def main():
    native = os.path.join(os.path.dirname(os.path.abspath(__file__)), "native")
    program = os.path.join(native, "bin", "dshost")
    if not os.path.exists("/etc/fonts/fonts.conf"):
        os.environ.setdefault("FONTCONFIG_FILE", os.path.join(native, "etc", "fonts.conf"))
    os.environ.setdefault("DIFFSIM_PYTHON", sys.executable)  # for plugins in Python
    os.execv(program, ["dshost", *sys.argv[1:]])
'''


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"make_wheel: {' '.join(map(str, command))}: {done.stderr.strip() or done.returncode}")
    return done.stdout


# ---- ELF files ----

def is_elf(path):
    with open(path, "rb") as f:
        return f.read(4) == b"\x7fELF"


def needed(path):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", path))


def resolved(path):
    """name -> file of all libraries that the loader would load for an ELF file."""
    text = run("ldd", path)
    missing = re.findall(r"^\s*(\S+) => not found", text, re.M)
    if missing:
        sys.exit(f"make_wheel: {path} needs {', '.join(missing)}, which is not there")
    return dict(re.findall(r"^\s*(\S+) => (/\S+)", text, re.M))


def versions(path):
    """The versions of the C library that a file needs at least."""
    return [tuple(map(int, v.split("."))) for v in re.findall(r"\bGLIBC_(\d+(?:\.\d+)+)", run("readelf", "-V", path))]


def vendor(native, folder):
    """Copies the libraries that files of the tree need and that are not of the system into `folder`, under names that
    nobody else has, and has all files find them. Returns the copied originals."""
    files = [f for f in sorted(native.rglob("*")) if f.is_file() and not f.is_symlink() and is_elf(f)]
    names, originals, waiting = {}, [], list(files)
    folder.mkdir(parents=True, exist_ok=True)
    where = {}
    for f in files:
        where.update(resolved(f))
    while waiting:
        for name in needed(waiting.pop()):
            if SYSTEM.match(name) or name in names or (native / "lib" / name).exists():
                continue
            original = Path(os.path.realpath(where[name]))
            stem, dot, rest = name.partition(".so")
            digest = hashlib.sha256(original.read_bytes()).hexdigest()[:8]
            names[name] = f"{stem}-{digest}{dot}{rest}"
            copy = folder / names[name]
            shutil.copyfile(original, copy)
            copy.chmod(0o755)
            originals.append(original)
            files.append(copy)
            waiting.append(copy)
    for f in files:
        renamed = [word for name in needed(f) if name in names for word in ("--replace-needed", name, names[name])]
        rpath = "$ORIGIN" if f.parent == folder else "$ORIGIN/" + os.path.relpath(folder, f.parent)
        run("strip", "--strip-unneeded", f)
        # One after the other: patchelf 0.14 loses a part of several changes at once.
        if renamed:
            run("patchelf", *renamed, f)
        if f.parent == folder:
            run("patchelf", "--set-soname", f.name, f)
        run("patchelf", "--set-rpath", rpath, f)
    for f in files:
        for name, path in resolved(f).items():
            if not SYSTEM.match(name) and not Path(path).is_relative_to(native):
                sys.exit(f"make_wheel: {f.relative_to(native)} would load {path}, which is not in the wheel")
    originals.extend(sorted(FONTS.glob('DejaVuSans.ttf')))
    return originals, files


def copyrights(originals):
    """Licence texts of what was copied, beside a library or as Debian installs them: library or package -> file."""
    found = {}
    for original in originals:
        beside = Path(f"{original}.copyright")
        if beside.exists():
            found[original.name.partition(".so")[0]] = beside
            continue
        for path in {str(original), str(original).replace("/usr/lib/", "/lib/", 1)}:
            done = subprocess.run(["dpkg", "-S", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
            package = done.stdout.partition(":")[0] if done.returncode == 0 else ""
            text = Path("/usr/share/doc") / package / "copyright"
            if package and text.exists():
                found[package] = text
    return found


# ---- the tree ----

def make_tree(stage, prefix, root, package, keep_docs):
    """The files of the wheel below `root`; returns those that were copied from the system and all ELF files."""
    here = stage / prefix.lstrip("/")
    for part in ("bin/dshost", "libexec/diffsim/dshost-worker", "lib/libdiffsim.so.1", "lib/diffsim"):
        if not (here / part).exists():
            sys.exit(f"make_wheel: {here}/{part} is not there: the wheel needs an installation with the folders bin, lib and "
                     "libexec below its prefix, as ./configure makes it by default")
    target = root / "diffsim"
    shutil.copytree(package, target, ignore=shutil.ignore_patterns("__pycache__", "*.pyc", "native"))
    native = target / "native"
    for folder in ("bin", "libexec", "include", "lib"):
        # A module for MPI belongs to the MPI of its machine.
        shutil.copytree(here / folder, native / folder, symlinks=True,
                        ignore=shutil.ignore_patterns("*.la", "modules", "libdiffsim.so", "libdiffsim.so.1"))
    for extra in ("share/man/man1/dshost.1", *(["share/doc/diffsim"] if keep_docs else [])):
        if (here / extra).is_dir():
            shutil.copytree(here / extra, native / extra)
        elif (here / extra).exists():
            (native / extra).parent.mkdir(parents=True)
            shutil.copyfile(here / extra, native / extra)
    # A wheel has no links: the library under its soname, and for -ldiffsim a script for the linker.
    for real in (native / "lib").glob("libdiffsim.so.1.*"):
        real.rename(native / "lib" / "libdiffsim.so.1")
    (native / "lib" / "libdiffsim.so").write_text("/* GNU ld script */\nINPUT ( libdiffsim.so.1 )\n")
    random123 = Path("/usr/include/Random123")
    if random123.is_dir():  # headers that diffsim/helper/random.h includes
        shutil.copytree(random123, native / "include" / "Random123", ignore=shutil.ignore_patterns("conventional", "*.clh"))
    for link in [f for f in native.rglob("*") if f.is_symlink()]:
        real = link.resolve()
        link.unlink()
        shutil.copy2(real, link)
    (native / "etc" / "fonts").mkdir(parents=True)
    (native / "etc" / "fonts.conf").write_text(FONTS_CONF)
    for name in ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf"):
        if (FONTS / name).exists():
            shutil.copyfile(FONTS / name, native / "etc" / "fonts" / name)
    (target / "_dshost.py").write_text(LAUNCHER)
    found = vendor(native, native / "lib" / "vendored")
    stubs(target, native / "bin" / "dshost")
    return found


# ---- stubs ----

TYPES = {"bool": "bool", "int": "int", "real": "float", "text": "str", "path": "str | PathLike[str]", "list": "Sequence[float]",
         "array": "str | PathLike[str]"}
OPTIONS = ("seed: int = ...", "jobs: int = ...", "threads: int = ...", "isolation: Literal['process', 'none'] = ...",
           "timeout: float | None = ...", "memory_mb: int | None = ...", "on_failure: Literal['raise', 'inf'] = ...",
           "settings: Mapping[str, Any] | None = ...")
RUN = ("seed: int | None = ...", "jobs: int | None = ...", "out: str | PathLike[str] | None = ...", "resume: bool = ...",
       "bounds: Any = ...", "x0: Any = ...", "jac: Any = ...", "fix: Mapping[Any, float] | None = ...", "vectorized: bool = ...",
       "target: float | None = ...", "seconds: float | None = ...", "progress: Any = ...", "record_as: str | None = ...",
       "run: Mapping[str, Any] | None = ...", "settings: Mapping[str, Any] | None = ...")


def stubs(package, dshost):
    """__init__.pyi: an overload of make() and minimize() for each plugin, so that editors complete ids and parameters."""
    listed = json.loads(run(str(dshost), "list", "--json"))
    facts = {row["id"]: json.loads(run(str(dshost), "help", row["path"], "--json")) for row in listed if not row.get("shadowed")}

    def keywords(facts, taken):
        known = {one.partition(":")[0] for one in taken}
        kinds = [(p, "Literal[" + ", ".join(map(repr, p["choices"])) + "]" if p["choices"] else TYPES.get(p["type"], "Any"))
                 for p in facts["params"] if p["name"] not in known and p["name"].isidentifier() and not keyword.iskeyword(p["name"])]
        return ", ".join([*taken, *(f"{p['name']}: {kind} = ..." for p, kind in kinds)])

    parts = re.findall(r"^    from (\.\w*) import (.*)$", (package / "__init__.py").read_text(), re.MULTILINE)
    lines = ["# Written by make_wheel.py from the plugins of this wheel.", "from collections.abc import Mapping, Sequence",
             "from os import PathLike", "from typing import Any, Literal, overload", "from ._errors import *", "__version__: str"]
    lines += [f"from {module} import {name} as {name}" for module, names in parts for name in names.split(", ")
              if name not in ("make", "minimize")]
    for kind, function, first, taken, result in (
        ("environment", "make", "name: ", OPTIONS, "Environment"),
        ("optimizer", "minimize", "f: Any, method: ", RUN, "Run"),
    ):
        more = ", budget: int = ..." if kind == "optimizer" else ""
        for name, one in facts.items():
            if one["kind"] == kind:
                lines += ["@overload", f"def {function}({first}Literal[{name!r}]{more}, *, {keywords(one, taken)}) -> {result}: ..."]
        lines += ["@overload", f"def {function}({first}Any{' = ...' * bool(more)}{more}, *, {', '.join(taken)}, **parameters: Any) -> {result}: ..."]
    (package / "__init__.pyi").write_text("\n".join(lines) + "\n")


def extras(project):
    """The optional dependencies of pyproject.toml, as lines of METADATA."""
    section = re.search(r"\[project\.optional-dependencies\]\n(.*?)\n\n", project.read_text(), re.DOTALL)
    text = ""
    for name, packages in re.findall(r"^(\w+) = \[(.*)\]$", section[1], re.MULTILINE):
        text += f"Provides-Extra: {name}\n"
        text += "".join(f"Requires-Dist: {package}; extra == '{name}'\n" for package in re.findall(r'"([^"]+)"', packages))
    return text


ENTRY_POINTS = "[console_scripts]\ndshost = diffsim._dshost:main\n"


def metadata_text(version, readme, project):
    """METADATA, from the table of pyproject.toml."""
    table = project.read_text()
    value = lambda key: re.search(rf'^{key} = "(.*?)"', table, re.MULTILINE)[1]  # noqa: E731
    rows = lambda key: re.findall(r'"([^"]+)"', re.search(rf"^{key} = \[(.*)\]$", table, re.MULTILINE)[1])  # noqa: E731
    return (
        f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {version}\nSummary: {value('description')}\nLicense: Apache-2.0\n"
        f"Requires-Python: {value('requires-python')}\n"
        + "".join(f"Requires-Dist: {one}\n" for one in rows("dependencies"))
        + extras(project)
        + "".join(f"Classifier: {one}\n" for one in rows("classifiers"))
        + "Description-Content-Type: text/markdown\n\n"
        + readme.read_text()
    )


def metadata(root, version, tag, originals, readme, licence, project):
    info = root / f"{DISTRIBUTION}-{version}.dist-info"
    (info / "licenses" / "vendored").mkdir(parents=True)
    shutil.copyfile(licence, info / "licenses" / "LICENSE")
    for name, text in sorted(copyrights(originals).items()):
        shutil.copyfile(text, info / "licenses" / "vendored" / f"{name}.txt")
    (info / "METADATA").write_text(metadata_text(version, readme, project))
    (info / "WHEEL").write_text("Wheel-Version: 1.0\nGenerator: diffsim make_wheel\nRoot-Is-Purelib: false\n" f"Tag: {tag}\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    return info


def write_wheel(root, info, path):
    """The archive, with the same bytes for the same files."""
    when = max(315532800, int(os.environ.get("SOURCE_DATE_EPOCH", "315532800")))
    stamp = __import__("time").gmtime(when)[:6]
    record = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as z:
        files = sorted(f for f in root.rglob("*") if f.is_file())
        files.sort(key=lambda f: f.is_relative_to(info))  # what says what is in it comes last
        for f in files:
            data = f.read_bytes()
            name = f.relative_to(root).as_posix()
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(data)}")
            add(z, name, data, stamp, bool(f.stat().st_mode & 0o100))
        name = f"{info.name}/RECORD"
        add(z, name, ("\n".join([*record, f"{name},,"]) + "\n").encode(), stamp, False)


def add(z, name, data, stamp, executable):
    entry = zipfile.ZipInfo(name, stamp)
    entry.external_attr = (0o100755 if executable else 0o100644) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    z.writestr(entry, data)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("stage", "prefix", "package", "version", "out", "readme", "licence"):
        p.add_argument(f"--{name}", required=True)
    p.add_argument("--docs", action="store_true", help="also the documents and examples")
    o = p.parse_args()
    for tool in ("patchelf", "readelf", "strip", "ldd"):
        if shutil.which(tool) is None:
            sys.exit(f"make_wheel: {tool} is missing: apt-get install {'patchelf' if tool == 'patchelf' else 'binutils'}")
    with tempfile.TemporaryDirectory() as work:
        root = Path(work)
        originals, files = make_tree(Path(o.stage), o.prefix, root, Path(o.package), o.docs)
        glibc = max(v for f in files for v in versions(f))
        tag = f"py3-none-manylinux_{glibc[0]}_{glibc[1]}_{os.uname().machine}"
        info = metadata(root, o.version, tag, originals, Path(o.readme), Path(o.licence), Path(o.package).parent.parent / "pyproject.toml")
        out = Path(o.out)
        out.mkdir(parents=True, exist_ok=True)
        for old in out.glob(f"{DISTRIBUTION}-{o.version}-*.whl"):
            old.unlink()
        wheel = out / f"{DISTRIBUTION}-{o.version}-{tag}.whl"
        write_wheel(root, info, wheel)
    print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB, {len(originals)} libraries and fonts inside")


if __name__ == "__main__":
    main()
