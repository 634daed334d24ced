// SPDX-License-Identifier: Apache-2.0
// shaders.js - the programs of the graphics processor. Positions are in scaled coordinates, as in tools/render: the box of
// the scene is centred at the origin and its diagonal is 1.

const VERTEX_HEAD = `#version 300 es
precision highp float;
uniform mat4 view, projection;
uniform vec4 shadow; // shift of a shadow in x and z per height, height of the floor, 1 = draw the shadow only
vec3 placed(vec3 p) {
  return shadow.w < 0.5 ? p : vec3(p.x - shadow.x * (p.y - shadow.z), shadow.z, p.z - shadow.y * (p.y - shadow.z));
}
`;

// Particles: a square each, in which the fragment shader finds the sphere.
const POINT_VERTEX = VERTEX_HEAD + `
layout(location = 0) in vec4 now;   // whole numbers; w = 0: not to be drawn
layout(location = 1) in vec4 next;  // in the next frame
layout(location = 2) in float value;
uniform vec3 offset, factor;
uniform float part, radius, height;
out vec3 center;
out float shade;
void main() {
  vec4 later = next.w > 0.5 ? next : now;
  vec4 eye = view * vec4(placed(offset + factor * mix(now.xyz, later.xyz, part)), 1.0);
  gl_Position = now.w > 0.5 ? projection * eye : vec4(2.0, 2.0, 2.0, 1.0);
  gl_PointSize = now.w > 0.5 ? max(1.5, radius * height * projection[1][1] / gl_Position.w) : 0.0;
  center = eye.xyz;
  shade = value;
}
`;

const FRAGMENT_HEAD = `#version 300 es
precision highp float;
uniform mat4 projection;
uniform vec4 shadow;
uniform vec3 base, light, up;
uniform float colored, gloss, unlit, opaque, edge, squash, behind;
out vec4 color;
// Cividis: J. Nunez, C. Anderton and R. Renslow, PLoS ONE 13, 2018.
vec3 ramp(float t) {
  vec3 c[6] = vec3[6](vec3(0.0, 0.133, 0.306), vec3(0.191, 0.264, 0.425), vec3(0.42, 0.425, 0.44), vec3(0.63, 0.596, 0.46),
    vec3(0.83, 0.756, 0.37), vec3(0.996, 0.91, 0.22));
  float at = clamp(t, 0.0, 1.0) * 4.999;
  int k = int(at);
  return mix(c[k], c[k + 1], at - float(k));
}
vec4 lit(vec3 normal, vec3 eye, float value) {
  if (shadow.w > 0.5) { return vec4(0.0, 0.0, 0.0, 0.2); }
  vec3 to = normalize(-eye), own = colored > 0.5 ? ramp(value) : base;
  float facing = abs(dot(normal, to));
  float alpha = opaque + edge * (1.0 - facing);
  if (unlit > 0.5) { return vec4(own, alpha); }
  float sky = 0.5 + 0.5 * dot(normal, up), key = max(dot(normal, light), 0.0);
  float shine = pow(max(dot(normal, normalize(light + to)), 0.0), 48.0);
  return vec4(own * (mix(0.40, 0.66, sky) + 0.50 * key) + vec3(gloss * shine), alpha);
}
`;

const POINT_FRAGMENT = FRAGMENT_HEAD + `
uniform float radius, flatView;
in vec3 center;
in float shade;
void main() {
  vec2 at = gl_PointCoord * 2.0 - 1.0;
  at.y = -at.y * (shadow.w > 0.5 ? squash : 1.0);
  float r = dot(at, at);
  if (r > 1.0) { discard; }
  vec3 normal = vec3(at, sqrt(1.0 - r));
  vec3 eye = center + radius * normal;
  vec4 place = projection * vec4(shadow.w > 0.5 ? center : eye * (1.0 + behind / max(length(eye), 0.1)), 1.0);
  gl_FragDepth = 0.5 + 0.5 * place.z / place.w;
  color = lit(normal, flatView > 0.5 ? vec3(0.0, 0.0, -1.0) : eye, shade);
}
`;

const SOLID_END = `
  vec4 eye = view * vec4(placed(p), 1.0);
  gl_Position = projection * eye;
  place = eye.xyz;
  normal = mat3(view) * n;
  shade = value;
}
`;

const SOLID_OUT = `
out vec3 place, normal;
out float shade;
`;

// Rigid shapes, one instance an element.
const RIGID_VERTEX = VERTEX_HEAD + SOLID_OUT + `
layout(location = 0) in vec3 at;
layout(location = 1) in vec3 outward;
layout(location = 2) in float value;
layout(location = 3) in vec3 position;
layout(location = 4) in vec4 turn;  // x y z w
uniform float size;
vec3 turned(vec3 v) { return v + 2.0 * cross(turn.xyz, cross(turn.xyz, v) + turn.w * v); }
void main() {
  vec3 p = position + size * turned(at), n = turned(outward);` + SOLID_END;

// Segments, one instance each.
const TUBE_VERTEX = VERTEX_HEAD + SOLID_OUT + `
layout(location = 0) in vec3 at;
layout(location = 1) in vec3 outward;
layout(location = 2) in float value;
layout(location = 3) in vec3 from;
layout(location = 4) in vec3 to;
uniform float size;
void main() {
  vec3 along = to - from;
  vec3 side = normalize(cross(along, abs(along.y) > 0.9 * length(along) ? vec3(1.0, 0.0, 0.0) : vec3(0.0, 1.0, 0.0)));
  vec3 other = normalize(cross(along, side));
  vec3 n = side * outward.x + other * outward.z, p = from + along * at.y + size * (side * at.x + other * at.z);` + SOLID_END;

const MESH_VERTEX = VERTEX_HEAD + SOLID_OUT + `
layout(location = 0) in vec3 at;
layout(location = 1) in vec3 outward;
layout(location = 2) in float value;
void main() { vec3 p = at, n = outward;` + SOLID_END;

const SOLID_FRAGMENT = FRAGMENT_HEAD + `
uniform float flatView;
in vec3 place, normal;
in float shade;
void main() {
  vec3 to = flatView > 0.5 ? vec3(0.0, 0.0, 1.0) : -place;
  vec3 n = normalize(normal);
  color = lit(dot(n, to) < 0.0 ? -n : n, flatView > 0.5 ? vec3(0.0, 0.0, -1.0) : place, shade);
}
`;

// The floor, or the background of a flat scene, with lines at multiples of the grid.
const FLOOR_VERTEX = `#version 300 es
precision highp float;
layout(location = 0) in vec2 at;
uniform mat4 view, projection;
uniform float level, reach, upright;
out vec2 place;
void main() {
  place = at * reach;
  vec3 p = upright > 0.5 ? vec3(place, level) : vec3(place.x, level, place.y);
  gl_Position = projection * view * vec4(p, 1.0);
}
`;

const FLOOR_FRAGMENT = `#version 300 es
precision highp float;
uniform vec3 ink;
uniform vec2 origin;
uniform float grid, reach, fill, upright;
in vec2 place;
out vec4 color;
void main() {
  vec2 at = (place - origin) / grid, wide = fwidth(at);
  vec2 line = 1.0 - smoothstep(0.6 * wide, 1.6 * wide, abs(fract(at - 0.5) - 0.5));
  float fine = clamp(1.6 - 4.0 * max(wide.x, wide.y), 0.0, 1.0);
  float fade = upright > 0.5 ? 1.0 : 1.0 - smoothstep(0.55, 1.0, length(place) / reach);
  color = vec4(ink, fade * mix(fill, upright > 0.5 ? 0.2 : 0.36, fine * max(line.x, line.y)));
}
`;

const PATH_VERTEX = `#version 300 es
precision highp float;
layout(location = 0) in vec3 at;
uniform mat4 view, projection;
void main() { gl_Position = projection * view * vec4(at, 1.0); }
`;

const PATH_FRAGMENT = `#version 300 es
precision highp float;
uniform vec3 base;
out vec4 color;
void main() { color = vec4(base, 0.8); }
`;
