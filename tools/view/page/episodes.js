// SPDX-License-Identifier: Apache-2.0
// episodes.js - the page: display, playback, and input by mouse, touch and keys. The address may set the start:
// #frame=25&color=speed&theme=dark&azimuth=30&elevation=20&zoom=1.5&play=0.

const $ = (id) => document.getElementById(id);
const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8];

function element(tag, text, kind) {
  const made = document.createElement(tag);
  if (text !== undefined) { made.textContent = text; }
  if (kind) { made.className = kind; }
  return made;
}

class Page {
  constructor(all, renderer, asked) {
    this.all = all.episodes;
    this.options = all.options;
    this.renderer = renderer;
    this.asked = asked;
    this.lead = this.all.reduce((a, b) => b.duration > a.duration ? b : a);
    this.time = 0;
    this.playing = false;
    this.color = "material";
    this.scale = { low: 0, high: 1 };
    this.paths = true;
    this.floor = true;
    this.dirty = true;
    this.coarse = 0;  // 0, 1, 2: how much the resolution is reduced during motion
    this.pace = 0;    // ms between images during motion
    this.pointers = new Map();
    this.cached = new Map();
    this.home();
    this.cells = this.all.map((e, i) => this.cellOf(e, i));
    this.plot = new Plot($("plot"), (t) => { this.stop(); this.go(t); });
    this.layout();
    this.fillSpeeds();
    this.fillCurves();
    this.fillColors();
    this.fillLegend();
    this.fillTable();
    this.listen();
    this.begin();
  }

  // ---- content of the page ----

  cellOf(episode, i) {
    const cell = element("div", undefined, "cell"), caption = this.options.caption;
    const title = this.all.length === 1 && caption !== null ? caption : episode.title;
    const head = element("div", undefined, "head"), name = element("p", title, "title");
    if (this.all.length > 1) { name.prepend(this.swatch(seriesColor(i)), " "); }
    cell.append(head);
    head.append(name);
    head.append(element("p", (episode.loss !== null ? "loss " + numberText(episode.loss) : "")
      + (episode.settings ? (episode.loss !== null ? ", " : "") + episode.settings : ""), "about"));
    cell.append(element("p", "", "ended"));
    $("cells").append(cell);
    return cell;
  }

  swatch(color) {
    const made = element("span", undefined, "swatch");
    made.style.background = color;
    return made;
  }

  // Number of columns that brings the cells closest to 4 : 3.
  layout() {
    const box = $("stage").getBoundingClientRect(), n = this.all.length;
    let best = 1, error = Infinity;
    for (let columns = 1; columns <= n; columns++) {
      const rows = Math.ceil(n / columns), shape = box.width / columns / (box.height / rows);
      const worse = Math.abs(Math.log(shape / 1.33)) + (rows * columns - n) / n;
      if (worse < error) { error = worse; best = columns; }
    }
    $("cells").style.gridTemplateColumns = "repeat(" + best + ", minmax(0, 1fr))";
    this.dirty = true;
  }

  fillSpeeds() {
    const natural = this.lead.duration;
    // Plays in two to twelve seconds, at real speed where that fits.
    this.speed = SPEEDS.reduce((a, b) => {
      const off = (v) => Math.max(0, Math.log(2 * v / natural), Math.log(natural / v / 12)) + 1e-3 * Math.abs(Math.log(v));
      return off(b) < off(a) ? b : a;
    });
    SPEEDS.forEach((v) => $("speed").append(new Option(v + " \u00d7", v, false, v === this.speed)));
    $("speed").value = this.speed;
  }

  metricNames() {
    return [...new Set(this.all.flatMap((e) => e.metrics.map((m) => m.name)))];
  }

  metricOf(episode, name) {
    return episode.metrics.find((m) => m.name === name) || null;
  }

  unitOf(name) {
    return unitText(this.all.map((e) => this.metricOf(e, name)).find((m) => m).unit);
  }

  fillCurves() {
    const names = this.metricNames(), asked = this.asked.get("plot");
    names.forEach((name) => $("curve").append(new Option(name, name)));
    $("chart").hidden = names.length === 0;
    if (names.length > 0) {
      $("curve").value = names.includes(asked) ? asked : names.includes("loss") ? "loss" : names[0];
      this.showCurve();
    }
  }

  showCurve() {
    const name = $("curve").value;
    const curves = this.all.map((e, i) => ({ episode: e, color: seriesColor(i), metric: this.metricOf(e, name) }))
      .filter((c) => c.metric).map((c) => ({ times: c.episode.times, values: c.metric.values, color: c.color }));
    this.plot.show(curves, this.unitOf(name));
    this.dirty = true;
  }

  fillColors() {
    [["material", "material"], ["speed", "speed (m/s)"], ["deformation", "deformation"]]
      .concat(this.metricNames().map((m) => ["metric:" + m, m])).forEach(([value, text]) => $("color").append(new Option(text, value)));
    const c = $("ramp").getContext("2d"), stops = ["#00224e", "#31446c", "#6b6c70", "#a19875", "#d4c15e", "#fee838"];
    const fill = c.createLinearGradient(0, 0, 128, 0);
    stops.forEach((stop, k) => fill.addColorStop(k / 5, stop));
    c.fillStyle = fill;
    c.fillRect(0, 0, 128, 1);
  }

  fillLegend() {
    const groups = new Map();
    this.all.forEach((e) => e.bodies.forEach((body) => {
      const key = body.role + " " + body.name;
      groups.set(key, (groups.get(key) || []).concat(body));
    }));
    groups.forEach((bodies) => {
      const label = element("label"), check = element("input");
      check.type = "checkbox";
      check.checked = true;
      check.addEventListener("change", () => { bodies.forEach((b) => { b.shown = check.checked; }); this.dirty = true; });
      if (bodies[0].role === "target") { this.targetCheck = check; }
      label.append(check, this.swatch(bodies[0].color), element("span", bodies[0].name));
      if (bodies[0].name !== bodies[0].role) { label.append(element("span", bodies[0].role, "role")); }
      $("legend").append(label);
    });
    const flags = [["paths", "paths", this.all.some((e) => e.bodies.some((b) => b.moves && b.width === 7))],
      ["floor", this.all[0].flat ? "grid, " + numberText(this.all[0].grid) + " m" : "floor, grid of " + numberText(this.all[0].grid) + " m",
        this.all.some((e) => e.flat || e.ground !== null)]];
    flags.filter((f) => f[2]).forEach(([name, text]) => {
      const label = element("label"), check = element("input");
      check.type = "checkbox";
      check.checked = true;
      check.id = name;
      check.addEventListener("change", () => { this[name] = check.checked; this.dirty = true; });
      label.append(check, element("span", text, "role"));
      $("legend").append(label);
    });
  }

  fillTable() {
    const head = element("tr"), names = this.metricNames(), shown = element("thead"), rows = element("tbody");
    ["", "loss", ...names.map((n) => n + (this.unitOf(n) ? " (" + this.unitOf(n) + ")" : ""))].forEach((t) => head.append(element("th", t)));
    shown.append(head);
    this.rows = this.all.map((e, i) => {
      const row = element("tr"), name = element("td", e.title);
      if (this.all.length > 1) { name.prepend(this.swatch(seriesColor(i)), " "); }
      row.append(name, element("td", numberText(e.loss)));
      const cells = names.map((name) => [this.metricOf(e, name), element("td", "")]);
      row.append(...cells.map((c) => c[1]));
      rows.append(row);
      return cells;
    });
    $("table").append(shown, rows);
  }

  // ---- colours ----

  setColor(kind) {
    this.color = [...$("color").options].some((o) => o.value === kind) ? kind : "material";
    $("color").value = this.color;
    this.cached.clear();
    this.scale = this.rangeOf(this.color);
    $("scale").hidden = this.color === "material";
    $("least").textContent = numberText(this.scale.low);
    $("most").textContent = numberText(this.scale.high);
    this.dirty = true;
  }

  // Values that colour a body: one per element, a single one, or null for its own colour.
  rawValues(episode, body, kind, frame) {
    if (kind.startsWith("metric:")) {
      const metric = this.metricOf(episode, kind.slice(7));
      return body.role === "material" && metric ? metric.values[Math.min(frame, metric.values.length - 1)] : null;
    }
    if (!body.moves || (body.role !== "material" && body.role !== "tool")) { return null; }
    if (kind === "speed") {
      return Float32Array.from({ length: body.count }, (_, e) => speedOf(episode, body, frame, e));
    }
    return body.role === "material" && body.width === 3 ? deformationOf(body, frame) : null;
  }

  // Range over all episodes without the largest 0.5 %; for fields, from some of the frames.
  rangeOf(kind) {
    if (kind === "material") { return { low: 0, high: 1 }; }
    if (kind.startsWith("metric:")) {
      const all = this.all.flatMap((e) => (this.metricOf(e, kind.slice(7)) || { values: [] }).values).filter((v) => v !== null);
      return { low: all.reduce((a, b) => Math.min(a, b), Infinity), high: all.reduce((a, b) => Math.max(a, b), -Infinity) };
    }
    const some = [];
    this.all.forEach((e) => e.bodies.forEach((body) => {
      const jump = Math.max(1, Math.floor(body.frames / 16)), skip = Math.max(1, Math.floor(body.count / 2000));
      for (let frame = 0; frame < body.frames; frame += jump) {
        const values = this.rawValues(e, body, kind, frame);
        for (let i = 0; values && i < values.length; i += skip) { some.push(values[i]); }
      }
    }));
    some.sort((a, b) => a - b);
    return { low: 0, high: some.length > 0 ? some[Math.floor(0.995 * (some.length - 1))] || 1 : 1 };
  }

  paint(episode, body, moment) {
    if (this.color === "material") { return null; }
    const frame = Math.round(moment.frame + moment.part), span = this.scale.high - this.scale.low || 1;
    const key = episode.title + "/" + this.all.indexOf(episode) + "/" + body.name + "/" + frame;
    if (!this.cached.has(key)) {
      if (this.cached.size > 400) { this.cached.clear(); }
      const raw = this.rawValues(episode, body, this.color, frame), fit = (v) => clamp((v - this.scale.low) / span, 0, 1);
      this.cached.set(key, raw === null || raw === undefined ? null : typeof raw === "number" ? fit(raw) : raw.map(fit));
    }
    return this.cached.get(key);
  }

  // ---- time ----

  leadFrame() {
    const { frame, part } = momentOf(this.lead, this.time);
    return Math.round(frame + part);
  }

  go(time) {
    this.time = clamp(time, 0, this.lead.duration);
    this.dirty = true;
  }

  // Index of the frame with this number, or of the nearest one, since a page may leave frames out.
  nearestFrame(number) {
    const frame = this.lead.frame;
    let nearest = 0;
    for (let i = 1; i < frame.length; i++) {
      if (Math.abs(frame[i] - number) < Math.abs(frame[nearest] - number)) { nearest = i; }
    }
    return nearest;
  }

  goFrame(frame) {
    this.stop();
    this.go(this.lead.times[clamp(frame, 0, this.lead.times.length - 1)]);
  }

  stop() {
    this.playing = false;
    this.dirty = true;
  }

  start() {
    if (this.time >= this.lead.duration) { this.time = 0; }
    this.playing = this.lead.times.length > 1;
    this.last = null;
    this.dirty = true;
  }

  toggle() {
    if (this.playing) { this.stop(); } else { this.start(); }
  }

  faster(by) {
    const at = SPEEDS.indexOf(this.speed);
    this.speed = SPEEDS[clamp(at + by, 0, SPEEDS.length - 1)];
    $("speed").value = this.speed;
  }

  // ---- camera ----

  home() {
    const told = this.options.camera, asked = (name) => Number.parseFloat(this.asked.get(name) || "NaN");
    const or = (v, other) => Number.isFinite(v) ? v : other, degrees = Math.PI / 180;
    this.camera = { azimuth: told ? told[0] * degrees : AZIMUTH, elevation: told ? told[1] * degrees : null,
      zoom: told ? told[2] : 1, pan: [0, 0] };
    this.camera.azimuth = or(asked("azimuth") * degrees, this.camera.azimuth);
    this.camera.elevation = or(asked("elevation") * degrees, this.camera.elevation);
    this.camera.zoom = clamp(or(asked("zoom"), this.camera.zoom), 0.05, 50);
    this.dirty = true;
  }

  turn(x, y) {
    if (this.all.every((e) => e.flat)) { this.move(x, y); return; }
    const c = this.camera;
    if (c.elevation === null) { c.elevation = this.all[0].elevation; }
    c.azimuth -= x * 0.008;
    c.elevation = clamp(c.elevation + y * 0.008, -1.57, 1.57);
    this.dirty = true;
  }

  move(x, y) {
    const tall = this.cells[0].getBoundingClientRect().height / 2;
    this.camera.pan[0] += x / tall;
    this.camera.pan[1] -= y / tall;
    this.dirty = true;
  }

  near(factor) {
    this.camera.zoom = clamp(this.camera.zoom * factor, 0.05, 50);
    this.dirty = true;
  }

  // ---- input ----

  listen() {
    const canvas = $("canvas");
    canvas.addEventListener("pointerdown", (e) => this.touch(e));
    canvas.addEventListener("pointermove", (e) => this.drag(e));
    ["pointerup", "pointercancel"].forEach((kind) => canvas.addEventListener(kind, (e) => {
      this.pointers.delete(e.pointerId);
      canvas.classList.toggle("held", this.pointers.size > 0);
    }));
    canvas.addEventListener("wheel", (e) => { e.preventDefault(); this.near(Math.exp(-0.0012 * e.deltaY)); }, { passive: false });
    canvas.addEventListener("dblclick", () => this.home());
    canvas.addEventListener("contextmenu", (e) => e.preventDefault());
    canvas.addEventListener("webglcontextlost", (e) => e.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => { this.renderer.begin(); this.dirty = true; });
    $("slider").max = this.lead.times.length - 1;
    $("slider").addEventListener("input", () => this.goFrame(Number($("slider").value)));
    $("play").addEventListener("click", () => this.toggle());
    $("back").addEventListener("click", () => this.goFrame(this.leadFrame() - 1));
    $("on").addEventListener("click", () => this.goFrame(this.leadFrame() + 1));
    $("speed").addEventListener("change", () => { this.speed = Number($("speed").value); });
    $("curve").addEventListener("change", () => this.showCurve());
    $("color").addEventListener("change", () => this.setColor($("color").value));
    $("home").addEventListener("click", () => this.home());
    $("theme").addEventListener("click", () => this.otherTheme());
    $("save").addEventListener("click", () => this.save());
    document.addEventListener("keydown", (e) => this.key(e));
    new ResizeObserver(() => { this.layout(); this.draw(); }).observe($("stage")); // before the first display
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { this.dirty = true; });
    addEventListener("hashchange", () => { this.asked = new URLSearchParams(location.hash.slice(1)); this.begin(); });
  }

  touch(e) {
    const canvas = $("canvas");
    canvas.focus({ preventScroll: true });
    canvas.setPointerCapture(e.pointerId);
    canvas.classList.add("held");
    this.pointers.set(e.pointerId, [e.clientX, e.clientY]);
  }

  // One pointer turns the scene, with shift or another button it moves it; two pointers move and zoom.
  drag(e) {
    const before = this.pointers.get(e.pointerId);
    if (!before) { return; }
    const x = e.clientX - before[0], y = e.clientY - before[1];
    if (this.pointers.size === 1) {
      if (e.shiftKey || e.buttons > 1) { this.move(x, y); } else { this.turn(x, y); }
    } else {
      const [id] = [...this.pointers.keys()].filter((k) => k !== e.pointerId), other = this.pointers.get(id);
      const then = Math.hypot(before[0] - other[0], before[1] - other[1]);
      const now = Math.hypot(e.clientX - other[0], e.clientY - other[1]);
      this.near(then > 0 ? now / then : 1);
      this.move(x / 2, y / 2);
    }
    this.pointers.set(e.pointerId, [e.clientX, e.clientY]);
  }

  key(e) {
    if (e.ctrlKey || e.altKey || e.metaKey || (e.target.tagName === "SELECT")) { return; }
    const own = e.target.tagName === "INPUT" && e.target.type === "range", button = ["BUTTON", "INPUT", "SUMMARY"].includes(e.target.tagName);
    const flip = (id) => { const check = $(id); if (check) { check.click(); } };
    const keys = {
      " ": () => this.toggle(), ArrowLeft: () => this.goFrame(this.leadFrame() - 1), ArrowRight: () => this.goFrame(this.leadFrame() + 1),
      Home: () => this.goFrame(0), End: () => this.goFrame(Infinity), ArrowUp: () => this.faster(1), ArrowDown: () => this.faster(-1),
      "+": () => this.near(1.15), "=": () => this.near(1.15), "-": () => this.near(1 / 1.15), "0": () => this.home(),
      A: () => this.turn(-12, 0), D: () => this.turn(12, 0), W: () => this.turn(0, 12), S: () => this.turn(0, -12),
      t: () => { if (this.targetCheck) { this.targetCheck.click(); } }, g: () => flip("floor"), p: () => flip("paths"),
      m: () => this.setColor($("color").options[($("color").selectedIndex + 1) % $("color").options.length].value),
      d: () => this.otherTheme(), s: () => this.save(),
    };
    if (!keys[e.key] || (button && e.key === " ") || (own && e.key.startsWith("Arrow"))) { return; }
    e.preventDefault();
    keys[e.key]();
  }

  dark() {
    const set = document.documentElement.dataset.theme;
    return set ? set === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  otherTheme() {
    document.documentElement.dataset.theme = this.dark() ? "light" : "dark";
    this.dirty = true;
  }

  save() {
    this.draw();
    $("canvas").toBlob((blob) => {
      const link = element("a");
      link.download = (this.all[0].title.replace(/[^A-Za-z0-9]+/g, "-") || "episode") + "-" + this.leadFrame() + ".png";
      link.href = URL.createObjectURL(blob);
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    });
  }

  // ---- animation ----

  begin() {
    const asked = this.asked, theme = asked.get("theme");
    if (theme === "dark" || theme === "light") { document.documentElement.dataset.theme = theme; }
    this.home();
    this.setColor(asked.get("color") || "material");
    if (asked.has("frame")) {
      this.goFrame(this.nearestFrame(Number.parseInt(asked.get("frame"), 10) || 0));
    } else if (asked.get("play") !== "0" && !matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.start();
    }
  }

  step(now) {
    if (this.playing) {
      const passed = this.last ? Math.min(now - this.last, 250) / 1000 * this.speed : 0;
      this.last = now;
      if (this.time >= this.lead.duration) {
        this.rest = (this.rest || 0) + passed / this.speed;
        if (this.rest > 1) { this.rest = 0; this.go(0); }
      } else {
        this.go(this.time + passed);
      }
    }
    this.keepPace(now);
    if (this.dirty) { this.draw(); }
    requestAnimationFrame((t) => this.step(t));
  }

  // Without a graphics processor, motion is drawn with fewer pixels to stay smooth; a scene at rest has all of them.
  keepPace(now) {
    const moves = this.playing || this.pointers.size > 0, passed = this.before ? now - this.before : 0;
    this.before = moves ? now : 0;
    if (!moves || passed === 0) {
      this.dirty = this.dirty || (!moves && this.drawn > 0);
      return;
    }
    this.pace = 0.8 * this.pace + 0.2 * passed;
    if (this.pace > 90 && this.coarse < 2) { this.coarse++; this.pace = 45; }
    if (this.pace < 20 && this.coarse > 0) { this.coarse--; this.pace = 45; }
  }

  background() {
    const told = this.options.background;
    const css = told || getComputedStyle(document.documentElement).getPropertyValue("--stage").trim();
    return rgbOf(css);
  }

  draw() {
    this.drawn = this.playing || this.pointers.size > 0 ? this.coarse : 0;
    const canvas = $("canvas"), ratio = Math.min(window.devicePixelRatio || 1, 2) / [1, 1.8, 3][this.drawn], box = $("stage").getBoundingClientRect();
    const wide = Math.max(1, Math.round(box.width * ratio)), tall = Math.max(1, Math.round(box.height * ratio));
    if (canvas.width !== wide || canvas.height !== tall) { canvas.width = wide; canvas.height = tall; }
    this.dirty = false;
    const options = { dark: this.dark(), background: this.background(), floor: this.floor, paths: this.paths,
      shadows: this.drawn < 2 };
    this.renderer.clear(options.background);
    const progress = this.lead.duration > 0 ? this.time / this.lead.duration : 0;
    const camera = { ...this.camera, azimuth: this.camera.azimuth + this.options.orbit * Math.PI / 180 * progress };
    this.all.forEach((episode, i) => {
      const cell = this.cells[i].getBoundingClientRect(), moment = momentOf(episode, this.time);
      const area = [(cell.left - box.left) * ratio, (box.bottom - cell.bottom) * ratio, cell.width * ratio, cell.height * ratio]
        .map(Math.round);
      this.renderer.draw(episode, moment, camera, area, options, (body) => this.paint(episode, body, moment));
    });
    this.tell();
  }

  tell() {
    const frame = this.leadFrame(), number = this.lead.frame[frame];
    $("slider").value = frame;
    $("now").textContent = "frame " + number + " of " + (this.lead.frames - 1)
      + (this.lead.dt > 0 ? ", " + this.time.toFixed(this.lead.duration < 1 ? 3 : 2) + " s" : "");
    $("play").classList.toggle("playing", this.playing);
    $("play").setAttribute("aria-label", this.playing ? "pause" : "play");
    this.plot.draw(this.time);
    this.all.forEach((e, i) => {
      const at = momentOf(e, this.time).frame, last = at === e.times.length - 1;
      this.rows[i].forEach(([metric, cell]) => { cell.textContent = metric ? numberText(metric.values[at]) : ""; });
      this.cells[i].querySelector(".ended").textContent = last && e.frames < e.whole ? "ended early" : "";
    });
    if (this.color.startsWith("metric:") || this.color !== "material") {
      $("least").textContent = numberText(this.scale.low);
    }
  }

  // For tests: moves the slider, draws, waits, and returns milliseconds per image and sums of the pixels.
  measure() {
    const gl = this.renderer.gl, times = [], sums = [], slider = $("slider");
    for (let k = 0; k < 12; k++) {
      const start = performance.now();
      slider.value = Math.round(Number(slider.max) * (k % 6) / 5);
      slider.dispatchEvent(new Event("input"));
      this.draw();
      const pixels = new Uint8Array(4 * gl.drawingBufferWidth * gl.drawingBufferHeight);
      gl.readPixels(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
      times.push(performance.now() - start); // reading waits until everything is drawn
      sums.push(pixels.reduce((sum, v, i) => (sum + v * (i % 8191 + 1)) % 4294967291, 0));
    }
    times.sort((a, b) => a - b);
    document.documentElement.dataset.pictureMs = times[0].toFixed(2);
    document.title = times[0].toFixed(1) + " ms a picture, at best; half of them " + times[times.length >> 1].toFixed(1);
    document.documentElement.dataset.pixels = sums.slice(0, 6).join(" ");
  }
}

async function main() {
  const asked = new URLSearchParams(location.hash.slice(1));
  try {
    $("why").textContent = "Reading the episode \u2026";
    const renderer = new Renderer($("canvas")), all = await readEpisodes();
    $("app").hidden = false;
    const page = new Page(all, renderer, asked);
    $("still").hidden = true;
    page.draw(); // fills the table, which moves the elements above it
    page.layout();
    page.draw();
    document.documentElement.dataset.ready = "yes";
    if (asked.has("measure")) { page.measure(); }
    requestAnimationFrame((t) => page.step(t));
  } catch (error) {
    $("app").hidden = true;
    $("still").hidden = false;
    $("why").textContent = "This page plays the episode with WebGL 2, which does not work here (" + error.message
      + "). A still picture:";
    document.documentElement.dataset.ready = "no";
  }
}

main();
