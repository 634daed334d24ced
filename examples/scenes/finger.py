# SPDX-License-Identifier: Apache-2.0
"""Writes finger.msh, the mesh of finger.ini: python3 finger.py > finger.msh

A finger of 0.1 m hangs from y = 0 and becomes thinner towards its tip. Its cells have six tetrahedra each, and three
layers across x are the physical groups of the file (Gmsh MSH 2.2): 1 the muscle, 2 the flesh, 3 the spine.
"""

NX, NY, NZ = 3, 10, 2  # cells: across, along, sideways
LENGTH, WIDTH, THICK, TIP = 0.1, 0.02, 0.024, 0.6  # m; TIP: thickness of the tip relative to the base

# The six tetrahedra of a cell go along its edges from corner 000 to corner 111, in each order of the axes.
ORDERS = ((0, 1, 2), (1, 2, 0), (2, 0, 1), (0, 2, 1), (1, 0, 2), (2, 1, 0))


def node(x, y, z):
    return 1 + x + (NX + 1) * (y + (NY + 1) * z)


def point(x, y, z):
    thin = 1 - (1 - TIP) * y / NY
    return ((x / NX - 0.5) * THICK * thin, -LENGTH * y / NY, (z / NZ - 0.5) * WIDTH)


def tetrahedra(x, y, z):
    for order in ORDERS:
        at = [x, y, z]
        corners = [node(*at)]
        for axis in order:
            at[axis] += 1
            corners.append(node(*at))
        if order in ORDERS[:3]:  # as y goes down; the others have positive volume
            corners[2], corners[3] = corners[3], corners[2]
        yield corners


nodes = [point(x, y, z) for z in range(NZ + 1) for y in range(NY + 1) for x in range(NX + 1)]
cells = [(x, y, z) for z in range(NZ) for y in range(NY) for x in range(NX)]
elements = [(1 + x, corners) for x, y, z in cells for corners in tetrahedra(x, y, z)]

print("$MeshFormat\n2.2 0 8\n$EndMeshFormat")
print("$PhysicalNames\n3\n3 1 \"muscle\"\n3 2 \"flesh\"\n3 3 \"spine\"\n$EndPhysicalNames")
print(f"$Nodes\n{len(nodes)}")
for i, p in enumerate(nodes):
    print(i + 1, *(f"{c:.6g}" for c in p))
print(f"$EndNodes\n$Elements\n{len(elements)}")
for i, (group, corners) in enumerate(elements):
    print(i + 1, 4, 2, group, group, *corners)
print("$EndElements")
