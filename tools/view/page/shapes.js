// SPDX-License-Identifier: Apache-2.0
// shapes.js - rigid shapes as triangles with normals, about the axes of the body (y is the long one), in metres.

// Rows of a surface of revolution about y: profile() gives [radius, y, normal outward, normal along y] of 0..1.
function revolve(rows, columns, profile) {
  const at = [], index = [];
  for (let i = 0; i <= rows; i++) {
    const [r, y, nr, ny] = profile(i / rows);
    for (let j = 0; j <= columns; j++) {
      const a = 2 * Math.PI * j / columns;
      at.push(r * Math.cos(a), y, r * Math.sin(a), nr * Math.cos(a), ny, nr * Math.sin(a));
    }
  }
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) {
      const a = i * (columns + 1) + j, b = a + columns + 1;
      index.push(a, b, a + 1, a + 1, b, b + 1);
    }
  }
  return { at, index };
}

// Two half spheres with the wall between them: rows 0..12 and 13..25.
function capsule(radius, length) {
  return revolve(25, 32, (t) => {
    const row = Math.round(25 * t), upper = row <= 12, a = Math.PI / 2 * (upper ? row / 12 : 1 + (row - 13) / 12);
    return [radius * Math.sin(a), radius * Math.cos(a) + (upper ? 1 : -1) * length / 2, Math.sin(a), Math.cos(a)];
  });
}

function cylinder(radius, height) {
  const y = height / 2;
  return revolve(5, 40, (t) => [[0, y, 0, 1], [radius, y, 0, 1], [radius, y, 1, 0], [radius, -y, 1, 0], [radius, -y, 0, -1],
    [0, -y, 0, -1]][Math.round(5 * t)]);
}

function torus(major, minor) {
  return revolve(24, 64, (t) => {
    const a = -2 * Math.PI * t;
    return [major + minor * Math.cos(a), minor * Math.sin(a), Math.cos(a), Math.sin(a)];
  });
}

function box(half) {
  const at = [], index = [];
  for (let axis = 0; axis < 3; axis++) {
    for (let side = -1; side <= 1; side += 2) {
      const first = at.length / 6;
      for (let k = 0; k < 4; k++) {
        const p = [0, 0, 0], n = [0, 0, 0];
        p[axis] = side * half[axis];
        p[(axis + 1) % 3] = (k & 1 ? 1 : -1) * half[(axis + 1) % 3];
        p[(axis + 2) % 3] = (k & 2 ? 1 : -1) * half[(axis + 2) % 3];
        n[axis] = side;
        at.push(...p, ...n);
      }
      index.push(first, first + 1, first + 2, first + 2, first + 1, first + 3);
    }
  }
  return { at, index };
}

// A segment of length 1 along y and radius 1; the shader stretches it between two points.
function tube() {
  return revolve(1, 8, (t) => [1, t, 1, 0]);
}

function shapeOf(body) {
  const s = body.size;
  return body.shape === "capsule" ? capsule(s[0], s[1]) : body.shape === "cylinder" ? cylinder(s[0], s[1])
    : body.shape === "torus" ? torus(s[0], s[1]) : box(s);
}
