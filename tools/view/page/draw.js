// SPDX-License-Identifier: Apache-2.0
// draw.js - draws an episode at a moment into a part of the canvas, with WebGL 2.

const HALF_FIELD = 0.24, AZIMUTH = 0.55, FILL = 0.95, FLOOR = 1.1;
const LIGHT = unit([-0.35, 1.0, 0.55]);
const TRACED = 16;

class Renderer {
  constructor(canvas) {
    const gl = canvas.getContext("webgl2", { alpha: false, stencil: true, antialias: true });
    if (!gl) { throw new Error("WebGL 2 is not available"); }
    this.gl = gl;
    this.canvas = canvas;
    this.begin();
  }

  // Creates programs and buffers on the graphics processor; repeated after a lost context.
  begin() {
    const names = "view projection shadow offset factor part radius height base light up colored gloss unlit opaque edge "
      + "squash behind flatView size level reach upright ink origin grid fill";
    const program = (vertex, fragment) => {
      const made = { program: this.compile(vertex, fragment), at: {} };
      names.split(" ").forEach((name) => { made.at[name] = this.gl.getUniformLocation(made.program, name); });
      return made;
    };
    this.points = program(POINT_VERTEX, POINT_FRAGMENT);
    this.rigid = program(RIGID_VERTEX, SOLID_FRAGMENT);
    this.tubes = program(TUBE_VERTEX, SOLID_FRAGMENT);
    this.mesh = program(MESH_VERTEX, SOLID_FRAGMENT);
    this.floor = program(FLOOR_VERTEX, FLOOR_FRAGMENT);
    this.path = program(PATH_VERTEX, PATH_FRAGMENT);
    this.square = this.buffer(new Float32Array([-1, -1, 1, -1, -1, 1, 1, 1]));
    this.made = new Map();
  }

  compile(vertex, fragment) {
    const gl = this.gl, program = gl.createProgram();
    [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]].forEach(([kind, text]) => {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost()) {
        throw new Error("the graphics processor refuses a program: " + gl.getShaderInfoLog(shader));
      }
      gl.attachShader(program, shader);
    });
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) {
      throw new Error("the graphics processor refuses a program: " + gl.getProgramInfoLog(program));
    }
    return program;
  }

  buffer(data, target) {
    const gl = this.gl, buffer = gl.createBuffer(), kind = target || gl.ARRAY_BUFFER;
    gl.bindBuffer(kind, buffer);
    gl.bufferData(kind, data, gl.STATIC_DRAW);
    return buffer;
  }

  // Numbers that change with the moment.
  stream(buffer, data) {
    const gl = this.gl, made = buffer || gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, made);
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.DYNAMIC_DRAW);
    return made;
  }

  attribute(place, buffer, size, type, stride, at, each) {
    const gl = this.gl;
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, size, type, false, stride, at);
    gl.vertexAttribDivisor(place, each);
  }

  constant(place, value) {
    this.gl.disableVertexAttribArray(place);
    this.gl.vertexAttrib1f(place, value);
  }

  // ---- buffers of a body that never change ----

  bodyOf(episode, body) {
    if (this.made.has(body)) { return this.made.get(body); }
    const gl = this.gl, made = {};
    if (body.shape === "points" || body.shape === "sphere") {
      const n = body.frames * body.count, all = new Uint16Array(4 * n);
      for (let i = 0; i < n; i++) {
        for (let c = 0; c < 3; c++) { all[4 * i + c] = body.q[i * body.width + c]; }
        all[4 * i + 3] = body.q[i * body.width] === NOTHING ? 0 : 1;
      }
      made.all = this.buffer(all);
    } else if (body.shape === "lines") {
      const unitTube = tube();
      made.solid = this.buffer(new Float32Array(unitTube.at));
      made.triangles = this.buffer(new Uint32Array(unitTube.index), gl.ELEMENT_ARRAY_BUFFER);
      made.count = unitTube.index.length;
    } else if (body.shape === "mesh") {
      made.triangles = this.buffer(body.vertices || new Uint32Array(0), gl.ELEMENT_ARRAY_BUFFER);
      made.count = body.vertices ? body.vertices.length : 0;
    } else {
      const shape = shapeOf(body);
      made.solid = this.buffer(new Float32Array(shape.at));
      made.triangles = this.buffer(new Uint32Array(shape.index), gl.ELEMENT_ARRAY_BUFFER);
      made.count = shape.index.length;
    }
    this.made.set(body, made);
    return made;
  }

  // ---- buffers of a body for one moment ----

  // Writes scaled positions of all elements to `out`, 3 or 7 numbers each; NaN where an element is not drawn.
  place(episode, body, moment, out) {
    const a = frameOf(body, moment.frame), b = body.moves && moment.part > 0 ? a + 1 : a, w = body.width;
    for (let e = 0; e < body.count; e++) {
      const drawn = isDrawn(body, a, e), t = isDrawn(body, b, e) ? moment.part : 0;
      for (let c = 0; c < 3; c++) {
        const v = valueOf(body, a, e, c), later = t > 0 ? valueOf(body, b, e, c) : v;
        out[e * w + c] = drawn ? (v + t * (later - v) - episode.center[c]) * episode.scale : NaN;
      }
      if (w === 7) { this.turn(body, a, b, e, t, out); }
    }
    return out;
  }

  // Interpolates two quaternions (x y z w) along the shorter arc.
  turn(body, a, b, e, t, out) {
    const from = [4, 5, 6, 3].map((c) => valueOf(body, a, e, c)), to = [4, 5, 6, 3].map((c) => valueOf(body, b, e, c));
    const sign = from.reduce((sum, v, k) => sum + v * to[k], 0) < 0 ? -1 : 1;
    const mixed = from.map((v, k) => v + t * (sign * to[k] - v)), size = Math.hypot(...mixed) || 1;
    for (let k = 0; k < 4; k++) { out[e * 7 + 3 + k] = mixed[k] / size; }
  }

  refresh(episode, body, moment) {
    const made = this.bodyOf(episode, body), key = body.moves ? moment.frame + moment.part : 0;
    if (made.all || made.key === key) { return made; }
    made.key = key;
    made.now = this.place(episode, body, moment, made.now || new Float32Array(body.count * body.width));
    if (body.shape === "lines") {
      made.ends = this.stream(made.ends, this.segmentsOf(body, made));
    } else if (body.shape === "mesh") {
      made.positions = this.stream(made.positions, made.now);
      made.normals = this.stream(made.normals, this.normalsOf(body, made));
    } else {
      made.poses = this.stream(made.poses, made.now);
    }
    return made;
  }

  segmentsOf(body, made) {
    const n = body.vertices ? body.vertices.length : 0, out = made.segments || (made.segments = new Float32Array(3 * n));
    for (let i = 0; i < n; i++) {
      for (let c = 0; c < 3; c++) { out[3 * i + c] = made.now[3 * body.vertices[i] + c]; }
    }
    return out;
  }

  // Smooth: the sum of the normals of the triangles about a vertex, by their areas.
  normalsOf(body, made) {
    const p = made.now, out = made.normal || (made.normal = new Float32Array(3 * body.count)), v = body.vertices || [];
    out.fill(0);
    for (let i = 0; i < v.length; i += 3) {
      const a = 3 * v[i], b = 3 * v[i + 1], c = 3 * v[i + 2];
      const ux = p[b] - p[a], uy = p[b + 1] - p[a + 1], uz = p[b + 2] - p[a + 2];
      const wx = p[c] - p[a], wy = p[c + 1] - p[a + 1], wz = p[c + 2] - p[a + 2];
      const nx = uy * wz - uz * wy, ny = uz * wx - ux * wz, nz = ux * wy - uy * wx;
      for (const k of [a, b, c]) { out[k] += nx; out[k + 1] += ny; out[k + 2] += nz; }
    }
    return out;
  }

  // The values that colour a body, 0..1 an element, as a buffer; null = one value for all of it.
  valuesOf(made, values) {
    if (values === null || typeof values === "number") { return null; }
    if (made.values !== values) {
      made.values = values;
      made.valueBuffer = this.stream(made.valueBuffer, values);
    }
    return made.valueBuffer;
  }

  // ---- drawing ----

  use(program, scene) {
    const gl = this.gl;
    gl.useProgram(program.program);
    gl.uniformMatrix4fv(program.at.view, false, scene.view);
    gl.uniformMatrix4fv(program.at.projection, false, scene.projection);
    gl.uniform3fv(program.at.light, scene.light);
    gl.uniform3fv(program.at.up, scene.up);
    gl.uniform4fv(program.at.shadow, scene.shadow);
    gl.uniform1f(program.at.unlit, scene.flat ? 1 : 0);
    gl.uniform1f(program.at.flatView, scene.flat ? 1 : 0);
    gl.uniform1f(program.at.height, scene.height);
    gl.uniform1f(program.at.squash, scene.squash);
  }

  look(program, scene, body, made, paint) {
    const gl = this.gl, buffer = this.valuesOf(made, paint.values);
    gl.uniform3fv(program.at.base, body.rgb);
    gl.uniform1f(program.at.colored, paint.values !== null ? 1 : 0);
    gl.uniform1f(program.at.gloss, body.role === "tool" ? 0.35 : body.shape === "points" ? 0.05 : 0.15);
    gl.uniform1f(program.at.opaque, paint.opaque);
    gl.uniform1f(program.at.edge, paint.edge);
    // A target made of particles must not veil the material among them.
    gl.uniform1f(program.at.behind, body.role === "target" && body.count > TRACED ? 2.5 * body.drawn * scene.episode.scale : 0);
    return buffer;
  }

  drawBody(scene, body, paint) {
    const gl = this.gl, made = this.refresh(scene.episode, body, scene.moment);
    const program = made.all ? this.points : body.shape === "lines" ? this.tubes : body.shape === "mesh" ? this.mesh : this.rigid;
    this.use(program, scene);
    const values = this.look(program, scene, body, made, paint), one = typeof paint.values === "number" ? paint.values : 0;
    const value = (each) => values ? this.attribute(2, values, 1, gl.FLOAT, 4, 0, each) : this.constant(2, one);
    for (let k = 0; k < 5; k++) { gl.disableVertexAttribArray(k); }
    if (made.all) {
      this.drawPoints(scene, body, made, program, value);
      return;
    }
    const solid = () => {
      this.attribute(0, made.solid, 3, gl.FLOAT, 24, 0, 0);
      this.attribute(1, made.solid, 3, gl.FLOAT, 24, 12, 0);
    };
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, made.triangles);
    if (body.shape === "mesh") {
      this.attribute(0, made.positions, 3, gl.FLOAT, 12, 0, 0);
      this.attribute(1, made.normals, 3, gl.FLOAT, 12, 0, 0);
      value(0);
      gl.drawElements(gl.TRIANGLES, made.count, gl.UNSIGNED_INT, 0);
    } else if (body.shape === "lines") {
      gl.uniform1f(program.at.size, Math.max(body.size[0] / 2 * scene.episode.scale, 0.0015));
      solid();
      this.attribute(3, made.ends, 3, gl.FLOAT, 24, 0, 1);
      this.attribute(4, made.ends, 3, gl.FLOAT, 24, 12, 1);
      if (values) { // a segment has the mean of its ends
        const v = paint.values, at = body.vertices;
        made.each = this.stream(made.each, Float32Array.from({ length: body.index / 2 }, (_, i) => (v[at[2 * i]] + v[at[2 * i + 1]]) / 2));
        this.attribute(2, made.each, 1, gl.FLOAT, 4, 0, 1);
      } else {
        this.constant(2, one);
      }
      gl.drawElementsInstanced(gl.TRIANGLES, made.count, gl.UNSIGNED_INT, 0, body.index / 2);
    } else {
      gl.uniform1f(program.at.size, scene.episode.scale);
      solid();
      this.attribute(3, made.poses, 3, gl.FLOAT, 28, 0, 1);
      this.attribute(4, made.poses, 4, gl.FLOAT, 28, 12, 1);
      value(1);
      gl.drawElementsInstanced(gl.TRIANGLES, made.count, gl.UNSIGNED_INT, 0, body.count);
    }
  }

  drawPoints(scene, body, made, program, value) {
    const gl = this.gl, e = scene.episode, a = frameOf(body, scene.moment.frame);
    const b = body.moves && scene.moment.part > 0 ? a + 1 : a, radius = body.shape === "sphere" ? body.size[0] : body.drawn;
    gl.uniform3fv(program.at.offset, body.low.slice(0, 3).map((v, c) => (v - e.center[c]) * e.scale));
    gl.uniform3fv(program.at.factor, body.step.slice(0, 3).map((v) => v * e.scale));
    gl.uniform1f(program.at.part, scene.moment.part);
    gl.uniform1f(program.at.radius, radius * e.scale);
    this.attribute(0, made.all, 4, gl.UNSIGNED_SHORT, 8, 8 * a * body.count, 0);
    this.attribute(1, made.all, 4, gl.UNSIGNED_SHORT, 8, 8 * b * body.count, 0);
    value(0);
    gl.drawArrays(gl.POINTS, 0, body.count);
  }

  // Depth first, then colour, so that only the nearest of several translucent layers is drawn.
  drawClear(scene, body, paint) {
    const gl = this.gl;
    gl.colorMask(false, false, false, false);
    this.drawBody(scene, body, paint);
    gl.colorMask(true, true, true, true);
    gl.enable(gl.BLEND);
    gl.depthFunc(gl.LEQUAL);
    this.drawBody(scene, body, paint);
    gl.disable(gl.BLEND);
    gl.depthFunc(gl.LESS);
  }

  drawFloor(scene) {
    const gl = this.gl, e = scene.episode, program = this.floor, flat = scene.flat, axes = flat ? [0, 1] : [0, 2];
    if (!flat && !scene.hasFloor) { return; }
    this.use(program, scene);
    for (let k = 0; k < 5; k++) { gl.disableVertexAttribArray(k); }
    gl.uniform1f(program.at.level, flat ? 0 : scene.shadow[2]);
    gl.uniform1f(program.at.upright, flat ? 1 : 0);
    gl.uniform1f(program.at.reach, flat ? 40 : FLOOR);
    gl.uniform1f(program.at.fill, flat ? 0 : 0.10);
    gl.uniform3fv(program.at.ink, scene.dark ? [0.62, 0.65, 0.70] : [0.55, 0.57, 0.60]);
    gl.uniform1f(program.at.grid, e.grid * e.scale);
    gl.uniform2fv(program.at.origin, axes.map((c) => -e.center[c] * e.scale % (e.grid * e.scale)));
    this.attribute(0, this.square, 2, gl.FLOAT, 8, 0, 0);
    gl.enable(gl.BLEND);
    gl.depthMask(false);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    gl.depthMask(true);
    gl.disable(gl.BLEND);
  }

  // Dark where a body is between floor and light, once in each pixel.
  drawShadows(scene, bodies) {
    const gl = this.gl;
    gl.enable(gl.BLEND);
    gl.enable(gl.STENCIL_TEST);
    gl.stencilFunc(gl.EQUAL, 0, 255);
    gl.stencilOp(gl.KEEP, gl.KEEP, gl.INCR);
    gl.depthMask(false);
    gl.enable(gl.POLYGON_OFFSET_FILL);
    gl.polygonOffset(-1, -1);
    scene.shadow[3] = 1;
    bodies.forEach((body) => this.drawBody(scene, body, { values: null, opaque: 1, edge: 0 }));
    scene.shadow[3] = 0;
    gl.disable(gl.POLYGON_OFFSET_FILL);
    gl.depthMask(true);
    gl.disable(gl.STENCIL_TEST);
    gl.disable(gl.BLEND);
  }

  // Trajectories of few rigid bodies up to now.
  drawPaths(scene, bodies) {
    const gl = this.gl, e = scene.episode, program = this.path;
    bodies.filter((body) => body.moves && body.width === 7 && body.count <= TRACED && body.role !== "fixed").forEach((body) => {
      const made = this.bodyOf(e, body);
      if (!made.way) {
        const way = new Float32Array(3 * body.frames * body.count);
        for (let i = 0; i < body.count; i++) {
          for (let k = 0; k < 3 * body.frames; k++) {
            const c = k % 3, frame = (k - c) / 3;
            const to = 3 * i * body.frames + k;
            way[to] = isDrawn(body, frame, i) ? (valueOf(body, frame, i, c) - e.center[c]) * e.scale
              : frame > 0 ? way[to - 3] : NaN; // no position: the trajectory stays where it was
          }
        }
        made.way = this.buffer(way);
      }
      this.use(program, scene);
      gl.uniform3fv(program.at.base, body.rgb);
      for (let k = 0; k < 5; k++) { gl.disableVertexAttribArray(k); }
      this.attribute(0, made.way, 3, gl.FLOAT, 12, 0, 0);
      for (let i = 0; i < body.count; i++) { gl.drawArrays(gl.LINE_STRIP, i * body.frames, scene.moment.frame + 1); }
    });
  }

  clear(background) {
    const gl = this.gl;
    gl.disable(gl.SCISSOR_TEST);
    gl.clearColor(...background, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
  }

  // `area` is [x, y, width, height] in pixels of the canvas from the bottom left; paint(body) gives values, or null.
  draw(episode, moment, camera, area, options, paint) {
    const gl = this.gl, scene = { episode, moment, ...cameraOf(episode, camera, area[2] / area[3]), height: area[3] };
    const level = (episode.ground - episode.center[1]) * episode.scale;
    scene.dark = options.dark;
    scene.hasFloor = episode.ground !== null && Math.abs(level) < 2 && options.floor;
    scene.shadow = [LIGHT[0] / LIGHT[1], LIGHT[2] / LIGHT[1], level || 0, 0];
    gl.viewport(...area);
    gl.scissor(...area);
    gl.enable(gl.SCISSOR_TEST);
    gl.clearColor(...options.background, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT | gl.STENCIL_BUFFER_BIT);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE);
    const shown = episode.bodies.filter((body) => body.shown), clear = (body) => body.shape === "points" ? body.size[1] : 0;
    const ghosts = shown.filter((body) => body.role === "target");
    const solids = shown.filter((body) => body.role !== "target" && !(clear(body) > 0));
    const glassy = shown.filter((body) => body.role !== "target" && clear(body) > 0);
    const ghost = { values: null, opaque: scene.flat ? 0.35 : 0.30, edge: scene.flat ? 0 : 0.30 };
    if (scene.flat) {
      gl.disable(gl.DEPTH_TEST);
      if (options.floor) { this.drawFloor(scene); }
      const rank = (body) => ["fixed", "target", "material", "tool"].indexOf(body.role);
      gl.enable(gl.BLEND);
      shown.slice().sort((a, b) => rank(a) - rank(b)).forEach((body) => this.drawBody(scene, body,
        body.role === "target" ? ghost : { values: paint(body), opaque: 1 - clear(body), edge: 0 }));
      if (options.paths) { this.drawPaths(scene, solids); }
      gl.disable(gl.BLEND);
      return;
    }
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LESS);
    solids.forEach((body) => this.drawBody(scene, body, { values: paint(body), opaque: 1, edge: 0 }));
    if (options.paths) { this.drawPaths(scene, solids); }
    this.drawFloor(scene);
    if (scene.hasFloor && scene.above && options.shadows) { this.drawShadows(scene, solids); }
    glassy.forEach((body) => this.drawClear(scene, body,
      { values: paint(body), opaque: 1 - clear(body), edge: 0.5 * clear(body) }));
    ghosts.forEach((body) => this.drawClear(scene, body, ghost));
  }
}

// Camera of an episode: at zoom 1 and the initial angles its box fills the image.
function cameraOf(episode, camera, aspect) {
  const half = episode.half;
  if (episode.flat) {
    const tall = Math.max(half[1], half[0] / aspect, 1e-3) / FILL / camera.zoom;
    const eye = [-camera.pan[0] * tall, -camera.pan[1] * tall, 2];
    return { flat: true, view: viewMatrix(axesOf(0, 0), eye), projection: parallel(tall * aspect, tall, 0.01, 60),
      light: [0, 0, 1], up: [0, 1, 0], squash: 1, above: false };
  }
  const first = axesOf(AZIMUTH, episode.elevation);
  let distance = 0.5;
  for (let i = 0; i < 8; i++) {
    const p = [i & 1 ? half[0] : -half[0], i & 2 ? half[1] : -half[1], i & 4 ? half[2] : -half[2]];
    const x = Math.abs(dot(p, first.right)), y = Math.abs(dot(p, first.up));
    distance = Math.max(distance, Math.max(x / (HALF_FIELD * aspect), y / HALF_FIELD) / FILL + dot(p, first.back));
  }
  distance /= camera.zoom;
  const axes = axesOf(camera.azimuth, camera.elevation === null ? episode.elevation : camera.elevation);
  const reach = HALF_FIELD * distance;
  const target = add(scaled(axes.right, -camera.pan[0] * reach), scaled(axes.up, -camera.pan[1] * reach));
  const eye = add(target, scaled(axes.back, distance)), view = viewMatrix(axes, eye);
  const turned = (v) => [dot(v, axes.right), dot(v, axes.up), dot(v, axes.back)];
  const above = eye[1] > (episode.ground - episode.center[1]) * episode.scale;
  return { flat: false, view, projection: perspective(HALF_FIELD, aspect, Math.max(0.02, distance - 2), distance + 55),
    light: turned(LIGHT), up: turned([0, 1, 0]), squash: 1 / Math.max(0.15, Math.abs(axes.back[1])), above };
}
