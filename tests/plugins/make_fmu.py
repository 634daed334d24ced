# SPDX-License-Identifier: Apache-2.0
"""Makes an FMU of fmu_models.c:  make_fmu.py MODEL VERSION OUT.fmu [KIND] [-DFLAG ...]   MODEL: BALL, VANDERPOL, MASSES.

KIND: me, cs or both. DS_CC compiles."""
import os
import shlex
import subprocess
import sys
import tempfile
import zipfile

# name, value reference, causality, start, more attributes; states have the number of their derivative's variable
MODELS = {
    "BALL": ([("h", 0, 'unit="m"'), ("v", 1, 'unit="m/s"')], [("g", 20, 9.81, 'min="1" max="20" unit="m/s2"'), ("e", 21, 0.7, 'min="0.3" max="1"')], [], 1, 3.0),
    "VANDERPOL": ([("x0", 0, ""), ("x1", 1, "")], [("mu", 20, 1, 'min="0.1" max="5"')], [], 0, 5.0),
    "MASSES": ([("x1", 0, 'unit="m"'), ("v1", 1, ""), ("x2", 2, 'unit="m"'), ("v2", 3, "")],
               [("k", 20, 10, 'min="1" max="40" unit="N/m"'), ("c", 21, 0.5, 'min="0" max="3" unit="N.s/m"')], [("u", 30), ("spring force", 40)], 0, 4.0),
}


def description(model, version, kind):
    states, parameters, others, indicators, stop = MODELS[model]
    start = {"BALL": [1, 0], "VANDERPOL": [2, 0], "MASSES": [1, 0, 0, 0]}[model]
    two, n, rows = version == 2, len(states), []
    gradient = model != "BALL"

    def row(name, vr, causality, variability, more, start=None, exact=False):
        head = f'name="{name}" valueReference="{vr}" causality="{causality}" variability="{variability}"' + (' initial="exact"' if exact else "")
        tail = more + (f' start="{start}"' if start is not None else "")
        rows.append(f"<ScalarVariable {head}><Real {tail}/></ScalarVariable>" if two else f"<Float64 {head} {tail}/>")

    for (name, vr, more), x in zip(states, start):
        row(name, vr, "output", "continuous", more, x, True)
    for i, (name, vr, _) in enumerate(states):
        row(f"der({name})", 10 + vr, "local", "continuous", f'derivative="{i + 1 if two else vr}"')
    for name, vr, x, more in parameters:
        row(name, vr, "parameter", "fixed", more, x, True)
    for name, vr in others:
        row(name, vr, "input" if vr == 30 else "output", "continuous", "", 0 if vr == 30 else None)
    me = f'providesDirectionalDerivative{"" if two else "s"}="{str(gradient).lower()}"' + ("" if two or not gradient else ' providesAdjointDerivatives="true"')
    parts = f'<ModelExchange modelIdentifier="model" {me}/>' if kind in ("me", "both") else ""
    parts += '<CoSimulation modelIdentifier="model" canHandleVariableCommunicationStepSize="true"/>' if kind in ("cs", "both") else ""
    if two:
        structure = "<Derivatives>" + "".join(f'<Unknown index="{n + i + 1}"/>' for i in range(n)) + "</Derivatives>"
    else:
        structure = "".join(f'<ContinuousStateDerivative valueReference="{10 + i}"/>' for i in range(n)) + '<EventIndicator valueReference="0"/>' * indicators
    token = 'guid="{token}" numberOfEventIndicators="%d"' % indicators if two else 'instantiationToken="{token}"'
    return (f'<?xml version="1.0"?><fmiModelDescription fmiVersion="{"2.0" if two else "3.0"}" modelName="{model}" {token}>{parts}'
            f'<DefaultExperiment startTime="0" stopTime="{stop}"/><ModelVariables>{"".join(rows)}</ModelVariables>'
            f"<ModelStructure>{structure}</ModelStructure></fmiModelDescription>")


# The variables of MASSES with arrays; the size of one is a structural parameter.
ARRAYS = """<ModelVariables>
<UInt64 name="n" valueReference="60" causality="structuralParameter" variability="fixed" start="4"/>
<Float64 name="x" valueReference="0" causality="output" initial="exact" start="1 0 0 0"><Dimension valueReference="60"/></Float64>
<Float64 name="der(x)" valueReference="10" causality="local" derivative="0"><Dimension valueReference="60"/></Float64>
<Float64 name="p" valueReference="20" causality="parameter" variability="fixed" start="10 0.5"><Dimension start="1"/><Dimension start="2"/></Float64>
<Float64 name="u" valueReference="30" causality="input" start="0"/>
<Float64 name="spring force" valueReference="40" causality="output"/>
<Int32 name="side" valueReference="50" causality="output"/>
<Clock name="tick" valueReference="70" causality="input" intervalVariability="triggered"/>
</ModelVariables><ModelStructure><ContinuousStateDerivative valueReference="10"/></ModelStructure></fmiModelDescription>"""


def main():
    model, version, out, *more = sys.argv[1:]
    kind = more.pop(0) if more and more[0][0] != "-" else "both"
    version = int(version)
    here = os.path.dirname(os.path.abspath(__file__))
    text = description(model, version, kind)
    if "-DARRAYS" in more:
        text = text.split("<ModelVariables>")[0] + ARRAYS
    with tempfile.TemporaryDirectory() as room:
        library = os.path.join(room, "model.so")
        subprocess.run([*shlex.split(os.environ.get("DS_CC", "cc")), "-std=gnu11", "-O1", "-fPIC", "-shared", "-fvisibility=hidden",
                        f"-DFMI={version}", f"-D{model}", *more, "-o", library, os.path.join(here, "fmu_models.c"), "-lm"], check=True)
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
            z.writestr("modelDescription.xml", text)
            z.write(library, f"binaries/{'linux64' if version == 2 else 'x86_64-linux'}/model.so")


if __name__ == "__main__":
    main()
