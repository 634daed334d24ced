// SPDX-License-Identifier: Apache-2.0
// math.js - vectors as arrays of three, matrices of 4 x 4 by columns, as WebGL takes them.
"use strict";

const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
const sub = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const scaled = (a, s) => [a[0] * s, a[1] * s, a[2] * s];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const unit = (a) => scaled(a, 1 / (Math.hypot(a[0], a[1], a[2]) || 1));
const clamp = (v, low, high) => Math.min(high, Math.max(low, v));

// Axes of a camera that looks along -direction; y is up.
function axesOf(azimuth, elevation) {
  const back = [Math.sin(azimuth) * Math.cos(elevation), Math.sin(elevation), Math.cos(azimuth) * Math.cos(elevation)];
  // The right axis is horizontal even if the camera looks straight down.
  const right = [Math.cos(azimuth), 0, -Math.sin(azimuth)];
  return { right, up: cross(back, right), back };
}

function viewMatrix(axes, eye) {
  const { right, up, back } = axes;
  return [right[0], up[0], back[0], 0, right[1], up[1], back[1], 0, right[2], up[2], back[2], 0,
    -dot(right, eye), -dot(up, eye), -dot(back, eye), 1];
}

function perspective(half, aspect, near, far) {
  return [1 / (half * aspect), 0, 0, 0, 0, 1 / half, 0, 0, 0, 0, (near + far) / (near - far), -1,
    0, 0, 2 * near * far / (near - far), 0];
}

function parallel(halfWidth, halfHeight, near, far) {
  return [1 / halfWidth, 0, 0, 0, 0, 1 / halfHeight, 0, 0, 0, 0, 2 / (near - far), 0, 0, 0, (near + far) / (near - far), 1];
}

// "kg m^2" with raised exponents.
function unitText(unit) {
  return unit.replace(/\^(-?\d)/g, (_, n) => [...n].map((d) => d === "-" ? "\u207b" : "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"[d]).join(""));
}

// Formats a number with at most four digits.
function numberText(v) {
  if (v === null || v === undefined || !Number.isFinite(v)) { return "\u2013"; }
  const size = Math.abs(v);
  const text = size !== 0 && (size < 1e-3 || size >= 1e6) ? v.toExponential(2) : String(Number(v.toPrecision(4)));
  return text.replace("-", "\u2212");
}
