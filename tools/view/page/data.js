// SPDX-License-Identifier: Apache-2.0
// data.js - reads the episodes out of the page: the description, and the blocks of positions (docs/view.md).

const LEVELS = 65534, NOTHING = 65535;

async function inflate(id) {
  const text = atob(document.getElementById(id).textContent.trim());
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) { bytes[i] = text.charCodeAt(i); }
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Whole numbers of all frames, element by element: (frame * count + element) * width + component.
function undoDifferences(bytes, frames, count, width) {
  const n = count * width, q = new Uint16Array(frames * n), last = new Uint16Array(n);
  if (bytes.length !== 2 * frames * n) { throw new Error("a block of positions is not complete"); }
  for (let f = 0; f < frames; f++) {
    const at = 2 * f * n;
    for (let c = 0; c < width; c++) {
      for (let e = 0; e < count; e++) {
        const i = c * count + e, z = bytes[at + i] | bytes[at + n + i] << 8;
        const from = f > 0 ? last[i] : e > 0 ? last[i - 1] : 0;
        last[i] = from + ((z >>> 1) ^ -(z & 1));
        q[f * n + e * width + c] = last[i];
      }
    }
  }
  return q;
}

function undoIndex(bytes) {
  const n = bytes.length / 4, index = new Uint32Array(n);
  for (let i = 0, v = 0; i < n; i++) {
    v = v + (bytes[i] | bytes[n + i] << 8 | bytes[2 * n + i] << 16 | bytes[3 * n + i] << 24) | 0;
    index[i] = v;
  }
  return index;
}

function rgbOf(hex) {
  return [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16) / 255);
}

async function readBody(body, place, number) {
  body.rgb = rgbOf(body.color);
  body.q = undoDifferences(await inflate("p" + place + "-" + number), body.frames, body.count, body.width);
  body.step = body.low.map((low, c) => (body.high[c] - low) / LEVELS);
  body.vertices = body.index > 0 ? undoIndex(await inflate("i" + place + "-" + number)) : null;
  body.moves = body.frames > 1;
  body.shown = true;
}

// All episodes, each with times (s) of its frames.
async function readEpisodes() {
  const all = JSON.parse(document.getElementById("description").textContent);
  for (let i = 0; i < all.episodes.length; i++) {
    const e = all.episodes[i];
    for (let b = 0; b < e.bodies.length; b++) { await readBody(e.bodies[b], i, b); }
    const step = e.dt > 0 ? e.dt : 1 / 30;
    e.times = e.frame.map((k) => k * step);
    e.duration = e.times[e.times.length - 1];
    e.center = [0, 1, 2].map((c) => (e.box[c] + e.box[3 + c]) / 2);
    const size = [0, 1, 2].map((c) => e.box[3 + c] - e.box[c]);
    e.scale = 1 / Math.hypot(size[0], size[1], size[2]);
    e.half = size.map((v) => v * e.scale / 2);
  }
  return all;
}

// Position of time t among the frames of an episode: the share `part` of the way from `frame` to the next one.
function momentOf(episode, t) {
  const times = episode.times;
  let low = 0, high = times.length - 1;
  if (t >= times[high]) { return { frame: high, part: 0 }; }
  while (high - low > 1) {
    const middle = low + high >> 1;
    if (times[middle] <= t) { low = middle; } else { high = middle; }
  }
  const part = (t - times[low]) / (times[high] - times[low]);
  return { frame: low, part: part > 1e-6 ? part : 0 };
}

function frameOf(body, frame) {
  return body.moves ? frame : 0;
}

function isDrawn(body, frame, element) {
  return body.q[(frame * body.count + element) * body.width] !== NOTHING;
}

function valueOf(body, frame, element, component) {
  return body.low[component] + body.step[component] * body.q[(frame * body.count + element) * body.width + component];
}

// Speed of an element, m/s, between the previous and the next frame.
function speedOf(episode, body, frame, element) {
  const a = Math.max(0, frame - 1), b = Math.min(body.frames - 1, frame + 1);
  if (!body.moves || a === b || !isDrawn(body, a, element) || !isDrawn(body, b, element)) { return 0; }
  let sum = 0;
  for (let c = 0; c < 3; c++) { sum += (valueOf(body, b, element, c) - valueOf(body, a, element, c)) ** 2; }
  return Math.sqrt(sum) / (episode.times[b] - episode.times[a]);
}

// Pairs of neighbours at the start: edges of a mesh or of lines, else some of the nearest particles.
function pairsOf(body) {
  if (body.pairs) { return body.pairs; }
  const pairs = [];
  if (body.vertices) {
    const per = body.shape === "lines" ? 2 : 3;
    for (let i = 0; i < body.vertices.length; i += per) {
      for (let k = 0; k < (per === 2 ? 1 : 3); k++) { pairs.push(body.vertices[i + k], body.vertices[i + (k + 1) % per]); }
    }
  } else {
    nearPairs(body, pairs);
  }
  body.pairs = Uint32Array.from(pairs);
  return body.pairs;
}

// Edge length of cells with about four of `count` particles each. An axis thinner than a cell has one cell.
function cellOf(size, count) {
  let axes = size.filter((s) => s > 0), cell = 1;
  for (let before = 0; axes.length !== before && axes.length > 0;) {
    before = axes.length;
    cell = (4 * axes.reduce((a, b) => a * b, 1) / count) ** (1 / before);
    const wide = axes.filter((s) => s > cell);
    axes = wide.length > 0 ? wide : axes;
  }
  return cell;
}

// Pairs of particles in the same or in adjacent cells, at most six per particle.
function nearPairs(body, pairs) {
  const start = [[], [], []];
  for (let e = 0; e < body.count; e++) { for (let c = 0; c < 3; c++) { start[c].push(valueOf(body, 0, e, c)); } }
  const low = start.map((v) => v.reduce((a, b) => Math.min(a, b), Infinity));
  const high = start.map((v) => v.reduce((a, b) => Math.max(a, b), -Infinity));
  const cell = cellOf(low.map((v, c) => high[c] - v), body.count);
  const cells = new Map();
  const key = (e, d) => [0, 1, 2].map((c) => Math.floor((start[c][e] - low[c]) / cell) + d[c]).join();
  for (let e = 0; e < body.count; e++) {
    if (!isDrawn(body, 0, e)) { continue; }
    const k = key(e, [0, 0, 0]);
    if (!cells.has(k)) { cells.set(k, []); }
    cells.get(k).push(e);
  }
  const beside = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [-1, 0, 0], [0, -1, 0], [0, 0, -1]];
  for (let e = 0; e < body.count; e++) {
    let found = 0;
    for (const d of beside) {
      for (const other of cells.get(key(e, d)) || []) {
        if (other > e && found < 6) { pairs.push(e, other); found++; }
      }
    }
  }
}

// Deformation of each element: mean of |distance / distance at the start - 1| over its neighbours.
function deformationOf(body, frame) {
  const pairs = pairsOf(body), sum = new Float32Array(body.count), count = new Float32Array(body.count);
  if (!body.startLength) { body.startLength = lengthsOf(body, 0, pairs); }
  const now = lengthsOf(body, frame, pairs);
  for (let i = 0; i < now.length; i++) {
    if (!(body.startLength[i] > 0) || !(now[i] >= 0)) { continue; }
    const strain = Math.abs(now[i] / body.startLength[i] - 1);
    for (let k = 0; k < 2; k++) { sum[pairs[2 * i + k]] += strain; count[pairs[2 * i + k]]++; }
  }
  for (let e = 0; e < body.count; e++) { sum[e] /= count[e] || 1; }
  return sum;
}

function lengthsOf(body, frame, pairs) {
  const lengths = new Float32Array(pairs.length / 2);
  for (let i = 0; i < lengths.length; i++) {
    const a = pairs[2 * i], b = pairs[2 * i + 1];
    let sum = 0;
    for (let c = 0; c < 3; c++) { sum += (valueOf(body, frame, a, c) - valueOf(body, frame, b, c)) ** 2; }
    lengths[i] = isDrawn(body, frame, a) && isDrawn(body, frame, b) ? Math.sqrt(sum) : NaN;
  }
  return lengths;
}
