# SPDX-License-Identifier: Apache-2.0
"""conda_channel.py CHANNEL - a small stand-in for conda-forge, made of this machine's Debian packages: what
packaging/conda/recipe.yaml requires, and no more, under the names of conda-forge.

Each library is alone in its package, with the headers, the files for pkg-config and the run_exports that conda-forge has; the
compiler is gcc with the flags of conda-forge (-O1 is faster), and with a sysroot, so that it finds nothing outside the
packages; the system calls are those of the sysroot 2.28. Tools (make, autoconf, ...) are empty packages: PATH has them.
"""

import collections
import glob
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

# name: (Debian's packages of headers, modules of pkg-config with their libraries and folders of headers)
LIBRARIES = {
    "cairo": (["libcairo2-dev"], {"cairo": ("cairo", "/cairo")}),
    "inih": (["libinih-dev"], {"inih": ("inih", "")}),
    "jansson": (["libjansson-dev"], {"jansson": ("jansson", "")}),
    "libexpat": (["libexpat1-dev"], {"expat": ("expat", "")}),
    "libffi": (["libffi-dev"], {"libffi": ("ffi", "")}),
    "libpng": (["libpng-dev"], {"libpng": ("png16", "/libpng16")}),
    "libsqlite": (["libsqlite3-dev"], {"sqlite3": ("sqlite3", "")}),
    "libwebp-base": (["libwebp-dev"], {m: (m[3:], "") for m in ("libwebp", "libwebpmux", "libwebpdemux")}),
    "libopenblas": ([], {"openblas": ("openblas", "")}),
    "openblas": (["libopenblas-serial-dev"], {}),
    "nlopt": (["libnlopt-dev"], {"nlopt": ("nlopt", "")}),
    "random123": (["librandom123-dev"], {}),
    "xxhash": (["libxxhash-dev"], {"libxxhash": ("xxhash", "")}),
    "zlib": (["zlib1g-dev"], {"zlib": ("z", "")}),
}
TOOLS = ("autoconf", "automake", "libtool", "make")
OF_THE_SYSTEM = re.compile(r"/(ld-linux|lib(c|m|dl|rt|pthread|resolv))[-.]")
NEWEST_CALL = 334  # of Linux 4.18
FLAGS = """export CC=x86_64-conda-linux-gnu-cc AR=ar RANLIB=ranlib
export CPPFLAGS="-DNDEBUG -D_FORTIFY_SOURCE=2 -O2 -isystem $PREFIX/include"
export CFLAGS="-march=nocona -mtune=haswell -ftree-vectorize -fPIC -fstack-protector-strong -fno-plt -O1 \
-ffunction-sections -pipe -isystem $PREFIX/include"
export LDFLAGS="-Wl,-O2 -Wl,--sort-common -Wl,--as-needed -Wl,-z,relro -Wl,-z,now -Wl,--disable-new-dtags -Wl,--gc-sections \
-Wl,--allow-shlib-undefined -Wl,-rpath,$PREFIX/lib -Wl,-rpath-link,$PREFIX/lib -L$PREFIX/lib"
"""


def said(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def files_of(package):
    return [f for f in said("dpkg", "-L", package).split() if os.path.isfile(f)]


class Package:
    """A folder, and then a package of conda in `channel`."""

    def __init__(self, channel, name, version, depends=(), subdir="linux-64", exports=None):
        self.channel, self.name, self.version, self.subdir = channel, name, version, subdir
        self.depends, self.exports = list(depends), exports
        self.root = tempfile.mkdtemp(dir=channel)

    def copy(self, source, name):
        target = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy(os.path.realpath(source), target)
        return target

    def write(self, name, text, mode=0o644):
        target = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(target, mode)

    def link(self, name, target):
        os.makedirs(os.path.dirname(os.path.join(self.root, name)), exist_ok=True)
        os.symlink(target, os.path.join(self.root, name))

    def done(self):
        names = sorted(os.path.relpath(os.path.join(at, f), self.root) for at, _, found in os.walk(self.root) for f in found)
        index = {"name": self.name, "version": self.version, "build": "0", "build_number": 0, "depends": self.depends, "subdir": self.subdir}
        paths = []
        for name in names:
            file = os.path.join(self.root, name)
            link = os.path.islink(file)
            data = b"" if link else open(file, "rb").read()
            paths.append({"_path": name, "path_type": "softlink" if link else "hardlink", "sha256": hashlib.sha256(data).hexdigest(), "size_in_bytes": len(data)})
        info = {"index.json": index, "paths.json": {"paths": paths, "paths_version": 1}, "about.json": {}}
        if self.exports:
            info["run_exports.json"] = {"weak": self.exports}
        os.makedirs(os.path.join(self.channel, self.subdir), exist_ok=True)
        with tarfile.open(os.path.join(self.channel, self.subdir, f"{self.name}-{self.version}-0.tar.bz2"), "w:bz2", compresslevel=1) as archive:
            for name, value in info.items():
                data = json.dumps(value).encode()
                entry = tarfile.TarInfo("info/" + name)
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))
            for name in names:
                archive.add(os.path.join(self.root, name), name)
        shutil.rmtree(self.root)


def library(name):
    """The file of lib<name>.so and its name for the loader."""
    folders = re.findall(r"-L(\S+)", said("pkg-config", "--libs-only-L", "openblas")) if name == "openblas" else []
    folders += said("gcc", "-print-multiarch").split() and ["/usr/lib/" + said("gcc", "-print-multiarch").strip(), "/usr/lib"]
    file = next(f for folder in folders for f in glob.glob(f"{folder}/lib{name}.so"))
    return file, re.search(r"SONAME.*\[(.+)\]", said("readelf", "-d", file))[1]


def needed_by(file):
    """{name for the loader: file} of all libraries that a file needs."""
    found = re.findall(r"^\s*(\S+) => (/\S+)", said("ldd", file), re.M)
    return {name: path for name, path in found if not OF_THE_SYSTEM.search(path)}


def libraries(channel):
    own, needed, versions = set(), collections.ChainMap(), {}
    for name, (_, modules) in LIBRARIES.items():
        for module, (lib, _) in modules.items():
            file, soname = library(lib)
            own.add(soname)
            needed.maps.append(needed_by(file))
            versions[name] = said("pkg-config", "--modversion", module).strip()
    rest = Package(channel, "debian-libraries", "12")
    for soname, file in needed.items():
        if soname not in own:
            subprocess.run(["patchelf", "--set-rpath", "$ORIGIN", rest.copy(file, f"lib/{soname}")], check=True)
    rest.done()
    versions["openblas"] = versions["libopenblas"]
    for name, (headers, modules) in LIBRARIES.items():
        version = versions.get(name, "1.0")
        depends = [f"libopenblas =={version}"] if name == "openblas" else ["debian-libraries"] if modules else []
        of = Package(channel, name, version, depends, exports=[f"{name} >={version}"] if modules else None)
        for package in headers:
            for file in files_of(package):
                found = re.fullmatch(r"/usr/include/(?:x86_64-linux-gnu/)?(?:openblas-serial/)?(.*)", file)
                if found:
                    of.copy(file, "include/" + found[1])
        for module, (lib, below) in modules.items():
            file, soname = library(lib)
            subprocess.run(["patchelf", "--set-rpath", "$ORIGIN", of.copy(file, f"lib/{soname}")], check=True)
            if f"lib{lib}.so" != soname and name != "libopenblas":
                of.link(f"lib/lib{lib}.so", soname)
            if name != "libopenblas":
                pc(of, module, lib, version, below)
        if name == "openblas":
            of.link("lib/libopenblas.so", library("openblas")[1])
            pc(of, "openblas", "openblas", version, "")
        of.done()


def pc(of, module, lib, version, below):
    of.write(
        f"lib/pkgconfig/{module}.pc",
        "prefix=${pcfiledir}/../..\n"
        f"Name: {module}\nDescription: {module}\nVersion: {version}\nLibs: -L${{prefix}}/lib -l{lib}\nCflags: -I${{prefix}}/include{below}\n",
    )


def compiler(channel):
    """gcc of this machine, whose headers and libraries are those of sysroot_linux-64."""
    sysroot = Package(channel, "sysroot_linux-64", "2.28", subdir="noarch")
    for package in ("libc6-dev", "linux-libc-dev", "libc6", "libcrypt-dev"):
        for file in files_of(package):
            if re.match(r"(/usr)?/(include|lib)/", file) and not file.endswith((".a", ".mo")) or file.endswith("_nonshared.a"):
                file_of = sysroot.copy(file, "x86_64-conda-linux-gnu/sysroot" + file)
                if file.endswith("asm/unistd_64.h"):
                    with open(file_of, encoding="ascii") as f:
                        lines = [line for line in f if not (m := re.match(r"#define __NR_\w+ (\d+)", line)) or int(m[1]) <= NEWEST_CALL]
                    with open(file_of, "w", encoding="ascii") as f:
                        f.writelines(lines)
    sysroot.link("x86_64-conda-linux-gnu/sysroot/lib64", "lib/x86_64-linux-gnu")
    sysroot.done()
    gcc = Package(channel, "gcc_linux-64", "12.2.0", ["sysroot_linux-64"])
    below = "/../x86_64-conda-linux-gnu/sysroot"
    cc = os.environ.get("DS_CC", "gcc")
    gcc.write("bin/x86_64-conda-linux-gnu-cc", f'#!/bin/sh\nexec {cc} --sysroot="$(dirname "$0"){below}" "$@"\n', 0o755)
    gcc.write("etc/conda/activate.d/gcc.sh", FLAGS)
    gcc.done()


def python(channel):
    """A virtual environment of this Python, and its NumPy."""
    import numpy

    short = f"{sys.version_info[0]}.{sys.version_info[1]}"
    version = ".".join(map(str, sys.version_info[:3]))
    real = os.path.realpath(sys.executable)
    of = Package(channel, "python", version)
    for name in ("python", "python3", "python" + short):
        of.link("bin/" + name, real)
    of.write("pyvenv.cfg", f"home = {os.path.dirname(real)}\nversion = {version}\n")
    of.write(f"lib/python{short}/site-packages/README.txt", "")
    of.done()
    of = Package(channel, "numpy", numpy.__version__, [f"python {short}.*"])
    of.write(f"lib/python{short}/site-packages/numpy.pth", os.path.dirname(os.path.dirname(numpy.__file__)) + "\n")
    of.done()


def main(channel):
    os.makedirs(channel, exist_ok=True)
    channel = os.path.abspath(channel)
    libraries(channel)
    compiler(channel)
    python(channel)
    for name in TOOLS:
        Package(channel, name, "1.0").done()
    of = Package(channel, "pkg-config", "0.29.2")
    of.write("bin/pkg-config", '#!/bin/sh\nexport PKG_CONFIG_LIBDIR=/nonexistent\nexec /usr/bin/pkg-config "$@"\n', 0o755)
    of.done()
    of = Package(channel, "font-ttf-dejavu-sans-mono", "2.37", subdir="noarch")
    of.copy("/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf", "fonts/DejaVuSansMono.ttf")
    of.done()


main(sys.argv[1])
