# SPDX-License-Identifier: Apache-2.0
"""The structs of _library.py match the headers; the library is found as documented; failures have classes."""

import ctypes
import inspect
import os
import re
import shutil
import subprocess
import sys
import unittest

import diffsim
from diffsim import _errors, _library
from support import SOURCE, Case

HEADERS = {
    "EnvironmentOptions": "ds_environment_options",
    "Box": "ds_environment_box",
    "Variable": "ds_variable",
    "Rows": "ds_rows",
    "Results": "ds_results",
    "Channel": "ds_channel",
    "Query": "ds_query",
    "Reply": "ds_reply",
    "SceneView": "ds_scene_view",
    "BodyView": "ds_body_view",
    "MetricView": "ds_metric_view",
    "StepsInfo": "ds_steps_info",
    "StepRows": "ds_step_rows",
    "StepResults": "ds_step_results",
    "SearchOptions": "ds_search_options",
    "RunnerResult": "ds_runner_result",
    "RunnerOptions": "ds_runner_options",
}


class Library(Case):
    def test_structs(self):
        """every struct has the size and the places of its header"""
        cc = os.environ.get("DS_CC", "cc").split()
        if shutil.which(cc[0]) is None:
            self.skipTest("there is no C compiler")
        declared = {
            name
            for name, kind in vars(_library).items()
            if inspect.isclass(kind) and issubclass(kind, ctypes.Structure) and name[0] != "_"
        }
        self.assertEqual(declared, set(HEADERS))
        lines = []
        for name, of in HEADERS.items():
            lines.append(f'printf("{name} %zu\\n", sizeof({of}));')
            lines += [
                f'printf("{name}.{f[0]} %zu\\n", offsetof({of}, {f[0]}));'
                for f in [("struct_size",), *getattr(_library, name)._fields_]
            ]
        headers = "".join(f"#include <diffsim/lib/{h}.h>\n" for h in ("ask_tell", "environment", "library", "run"))
        with open(self.path("t.c"), "w", encoding="utf-8") as f:
            f.write(headers + "#include <stdio.h>\nint main(void)\n{\n" + "\n".join(lines) + "\nreturn 0;\n}\n")
        subprocess.run(
            [*cc, "-I" + os.path.join(SOURCE, "include"), "-o", self.path("t"), self.path("t.c")], check=True
        )
        said = dict(
            line.split()
            for line in subprocess.run([self.path("t")], check=True, stdout=subprocess.PIPE)
            .stdout.decode()
            .splitlines()
        )
        for name in HEADERS:
            kind = getattr(_library, name)
            self.assertEqual(int(said[name]), ctypes.sizeof(kind), name)
            for field, *_ in kind._fields_:
                self.assertEqual(int(said[f"{name}.{field}"]), getattr(kind, field).offset, f"{name}.{field}")

    def test_version(self):
        """the version equals that of dshost"""
        said = subprocess.run([_library.program(), "--version"], check=True, stdout=subprocess.PIPE).stdout.decode()
        self.assertIn(f"dshost {diffsim.__version__} ", said)

    def test_named_library(self):
        """DIFFSIM_LIBRARY names the library, and a wrong one is reported in one line"""
        code = "import diffsim._library as l; print(l.path)"
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "DIFFSIM_LIBRARY": _library._loaded_path()}
        said = (
            subprocess.run([sys.executable, "-c", code], env=env, check=True, stdout=subprocess.PIPE)
            .stdout.decode()
            .strip()
        )
        self.assertEqual(said, env["DIFFSIM_LIBRARY"])
        env["DIFFSIM_LIBRARY"] = "/nowhere/libdiffsim.so.1"
        done = subprocess.run([sys.executable, "-c", code], env=env, check=False, stderr=subprocess.PIPE)
        self.assertRegex(
            done.stderr.decode().splitlines()[-1],
            r"LibraryError: libdiffsim cannot be loaded \(the variable DIFFSIM_LIBRARY: /nowhere",
        )
        self.assertNotEqual(done.returncode, 0)

    def test_gymnasium(self):
        """a program that checks for Gymnasium first and imports it later has the environments registered,
        once"""
        with open(self.path("gymnasium.py"), "w", encoding="utf-8") as f:
            f.write("assert not calls\n")
        code = (
            "import builtins, importlib.util, sys\n"
            "import diffsim\n"
            "builtins.calls = []\n"
            "diffsim._Gymnasium.register = staticmethod(lambda: calls.append('gymnasium' in sys.modules))\n"
            "assert importlib.util.find_spec('gymnasium') and importlib.util.find_spec('gymnasium')\n"
            "assert 'gymnasium' not in sys.modules and not calls\n"
            "import gymnasium\n"
            "assert calls == [True], calls\n"
            "assert diffsim._Gymnasium not in sys.meta_path\n"
        )
        env = {**os.environ, "PYTHONPATH": os.pathsep.join([self.room, *sys.path])}
        done = subprocess.run([sys.executable, "-c", code], env=env, check=False, stderr=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stderr.decode()), (0, ""))

    def test_exceptions(self):
        """every exit status in core/base/error.h has its class"""
        with open(os.path.join(SOURCE, "core", "base", "error.h"), encoding="utf-8") as f:
            statuses = {int(v) for v in re.findall(r"DS_EXIT_\w+ = (\d+)", f.read())} - {0, 1, 143}
        self.assertEqual(statuses, {c.status for c in _errors._BY_STATUS.values()})
        for status in statuses | {143}:
            self.assertIsInstance(_errors.by_exit_status(status, "line"), diffsim.DiffsimError)

    def test_documented(self):
        """everything that is exported has a docstring, functions and methods too"""
        missing = []
        for name in diffsim.__all__:
            thing = getattr(diffsim, name)
            missing += [name] if not inspect.getdoc(thing) else []
            if inspect.isclass(thing):
                missing += [
                    f"{name}.{k}"
                    for k, v in vars(thing).items()
                    if not k.startswith("_")
                    and (inspect.isfunction(v) or isinstance(v, property))
                    and not inspect.getdoc(v)
                ]
        self.assertEqual(missing, [])


if __name__ == "__main__":
    unittest.main()
