# SPDX-License-Identifier: Apache-2.0
"""view_readers.py KIND NAME [EVERY]: reads NAME.* as other programs do and compares it with NAME.npz. Exit status 77 where Python
has no such reader. KIND: vtk, meshio, usd, ply, film."""
import sys
import xml.etree.ElementTree

try:
    import numpy as np
    if sys.argv[1] == "vtk":
        import vtk
        from vtk.util.numpy_support import vtk_to_numpy
    elif sys.argv[1] in ("meshio", "ply"):
        import meshio
    elif sys.argv[1] == "usd":
        from pxr import Usd, UsdGeom
    elif sys.argv[1] == "film":
        from PIL import Image
        from PIL import features
        if not features.check("webp"):
            raise ImportError("Pillow without WebP")
except ImportError as e:
    print(e)
    sys.exit(77)

kind, name = sys.argv[1:3]
z = np.load(name + ".npz")
bodies = list(z["bodies"])
frames = list(z["frame"])[::int(sys.argv[3]) if len(sys.argv) > 3 else 1]


def numbers(body, i):
    """Positions or poses of a body in kept frame i; a target that rests has one frame."""
    v = z[body + "_positions"] if body + "_positions" in z else z[body + "_poses"]
    return v[min(i, len(v) - 1)]


def present(body):
    """Elements that are somewhere when it begins."""
    return np.isfinite(numbers(body, 0)).all(axis=1)


def check(worst, most, what):
    print(what, "worst difference", worst)
    assert worst <= most, (what, worst)


def collection():
    return xml.etree.ElementTree.parse(name + ".pvd").getroot()[0]


def read_vtk():
    worst, sets = 0.0, collection()
    assert len(sets) == len(frames)
    for i, entry in enumerate(sets):
        assert abs(float(entry.get("timestep")) - z["time"][frames[i]]) < 1e-12
        reader = vtk.vtkXMLUnstructuredGridReader()
        reader.SetFileName(entry.get("file"))
        reader.Update()
        grid = reader.GetOutput()
        points = vtk_to_numpy(grid.GetPoints().GetData())
        of_cell = vtk_to_numpy(grid.GetCellData().GetArray("body"))
        corner = vtk_to_numpy(grid.GetCells().GetConnectivityArray())
        end = vtk_to_numpy(grid.GetCells().GetOffsetsArray())
        field = grid.GetFieldData()
        assert grid.GetNumberOfCells() == len(of_cell)
        at = 0
        for b, body in enumerate(x for x in bodies if present(x).any()):
            assert vtk_to_numpy(field.GetArray("body/" + body))[0] == b
            there = numbers(body, i)[present(body)]
            if body + "_positions" in z:
                worst = max(worst, np.abs(points[at:at + len(there)] - there).max())
                at += len(there)
            else:
                worst = max(worst, np.abs(vtk_to_numpy(field.GetArray(body + "_poses")) - there).max())
                cells = np.nonzero(of_cell == b)[0]
                used = corner[end[cells[0]]:end[cells[-1] + 1]]
                assert used.min() == at
                at = used.max() + 1
                # A surface lies about its poses: the middle of the vertices of all copies.
                middle = points[used.min():at].reshape(len(there), -1, 3).mean(axis=1)
                assert np.abs(middle - there[:, :3]).max() < 1e-6
        assert at == grid.GetNumberOfPoints()
    check(worst, 0, "VTK")
    if vtk.vtkXMLUnstructuredGridReader().CanReadFile(sets[0].get("file")) != 1:
        raise AssertionError("VTK does not know the file")


def read_meshio(file):
    mesh = meshio.read(file)
    worst, at = 0.0, 0
    last = len(frames) - 1
    for body in (x for x in bodies if present(x).any()):
        there = numbers(body, last)[present(body)]
        if body + "_positions" not in z:
            break
        worst = max(worst, np.abs(mesh.points[at:at + len(there)] - there).max())
        at += len(there)
    check(worst, 0, file)


def read_usd():
    stage = Usd.Stage.Open(name + ".usda")
    assert UsdGeom.GetStageMetersPerUnit(stage) == 1 and UsdGeom.GetStageUpAxis(stage) == "Y"
    assert stage.GetEndTimeCode() == frames[-1] and abs(stage.GetTimeCodesPerSecond() * z["dt"] - 1) < 1e-8
    worst, turned = 0.0, 0.0
    for body in (x for x in bodies if present(x).any()):
        prim = stage.GetPrimAtPath("/episode/" + body)
        assert prim, body
        for i, k in enumerate(frames):
            code = Usd.TimeCode(float(k))
            there = numbers(body, i)[present(body)]
            if prim.GetTypeName() in ("Points", "Mesh"):
                points = np.array(UsdGeom.PointBased(prim).GetPointsAttr().Get(code))
                worst = max(worst, np.abs((points - there) / (1 + np.abs(there))).max())
            elif prim.GetTypeName() == "BasisCurves":
                points = np.array(UsdGeom.PointBased(prim).GetPointsAttr().Get(code))
                ends = z[body + "_index"].reshape(-1)
                worst = max(worst, np.abs(points - there[ends]).max())
            for j, pose in enumerate(there if body + "_poses" in z else []):
                copy = stage.GetPrimAtPath("/episode/%s/copy%d" % (body, j))
                m = np.array(UsdGeom.Xformable(copy).ComputeLocalToWorldTransform(code))
                w, a, b, c = pose[3:] / np.linalg.norm(pose[3:])
                r = np.array([[1 - 2 * (b * b + c * c), 2 * (a * b - w * c), 2 * (a * c + w * b)],
                              [2 * (a * b + w * c), 1 - 2 * (a * a + c * c), 2 * (b * c - w * a)],
                              [2 * (a * c - w * b), 2 * (b * c + w * a), 1 - 2 * (a * a + b * b)]])
                worst = max(worst, np.abs(m[3, :3] - pose[:3]).max())
                turned = max(turned, np.abs(m[:3, :3].T - r).max())
    check(worst, 1e-6, "USD")
    check(turned, 1e-6, "USD, turns")


def read_film():
    sizes = set()
    for ending in ("webp", "png"):
        film = Image.open(name + "." + ending)
        assert film.n_frames == len(frames), (ending, film.n_frames, len(frames))
        sizes.add(film.size)
        film.seek(film.n_frames - 1)
        picture = np.asarray(film.convert("RGB"), dtype=float)
        if ending == "webp":
            first = picture
        else:
            check(np.sqrt(((picture - first) ** 2).mean()), 6, "WebP against PNG, grey levels")
    assert len(sizes) == 1


{"vtk": read_vtk, "usd": read_usd, "film": read_film,
 "meshio": lambda: read_meshio(collection()[-1].get("file")),
 "ply": lambda: read_meshio("%s-%04d.ply" % (name, frames[-1]))}[kind]()
