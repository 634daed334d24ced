// SPDX-License-Identifier: Apache-2.0
// live.js - the page of `dshost view --live`: requests the state each second and shows it.

const ENDED = { budget: "its budget is used up", target: "it has reached its target", time: "its time is up",
  signal: "it was stopped by a signal", too_many_failures: "it ended by failures", error: "it ended by an error",
  optimizer_finished: "the optimizer has ended it" };
const place = (id) => document.getElementById(id);
let state = null, page = 0, silent = 0;

function duration(seconds) {
  if (!Number.isFinite(seconds)) { return "\u2013"; }
  const s = Math.round(seconds), two = (v) => String(v).padStart(2, "0");
  return s >= 3600 ? Math.floor(s / 3600) + ":" + two(Math.floor(s / 60) % 60) + ":" + two(s % 60)
    : Math.floor(s / 60) + ":" + two(s % 60);
}

function showNumbers() {
  const left = state.ended === null && state.rate > 0 ? (state.budget - state.evaluations) / state.rate : NaN;
  place("title").textContent = state.env + " with " + state.opt + ", seed " + state.seed;
  document.title = numberText(state.best_loss) + " \u2013 " + state.env + " with " + state.opt;
  place("about").textContent = state.folder + (state.ended !== null ? ": " + (ENDED[state.ended] || "ended: " + state.ended) : "")
    + (state.failed > 0 ? "; " + state.failed + " evaluations failed" : "");
  place("count").textContent = state.evaluations + (state.budget > 0 ? " of " + state.budget : "");
  place("best").textContent = numberText(state.best_loss);
  place("at").textContent = state.best_id > 0 ? "best loss, at evaluation " + state.best_id : "best loss";
  place("rate").textContent = state.ended === null ? numberText(state.rate) : "\u2013";
  place("left").textContent = duration(left);
  place("progress").value = state.budget > 0 ? state.evaluations / state.budget : 0;
}

// The losses, and the best one so far as a step curve.
function showPlot() {
  const canvas = place("plot"), ratio = window.devicePixelRatio || 1, box = canvas.getBoundingClientRect();
  const style = getComputedStyle(document.documentElement), c = canvas.getContext("2d"), best = state.improvements;
  canvas.width = Math.round(box.width * ratio);
  canvas.height = Math.round(box.height * ratio);
  c.scale(ratio, ratio);
  if (best.length === 0) { return; }
  const lowest = best[best.length - 1][1], log = place("log").checked && lowest > 0, map = log ? Math.log10 : (v) => v;
  const points = state.points.filter((p) => !log || p[1] > 0), losses = points.map((p) => map(p[1])).concat(map(lowest), map(best[0][1]));
  const sorted = losses.slice().sort((a, b) => a - b), low = sorted[0];
  const high = Math.max(sorted[Math.floor(0.98 * (sorted.length - 1))], map(best[0][1]), low + 1e-9 * Math.max(1, Math.abs(low)));
  const room = 0.05 * (high - low), last = Math.max(state.evaluations, state.ended === null ? state.budget : 1);
  c.font = "12px 'DejaVu Sans', Verdana, sans-serif";
  const ticks = log && high - low < 1 ? ticksOf(10 ** (low - room), 10 ** (high + room), 5).map(map) : ticksOf(low - room, high + room, 5);
  const texts = log ? ticks.map((v) => numberText(Number((10 ** v).toPrecision(3)))) : tickTexts(ticks);
  const left = 16 + Math.max(24, ...texts.map((t) => c.measureText(t).width)), top = 8, bottom = 26, right = 14;
  const x = (id) => left + (box.width - left - right) * id / last;
  const y = (v) => top + (box.height - top - bottom) * Math.min(1, (high + room - v) / (high - low + 2 * room));
  c.strokeStyle = style.getPropertyValue("--line");
  c.fillStyle = style.getPropertyValue("--soft");
  c.textAlign = "right";
  c.textBaseline = "middle";
  ticks.forEach((v, i) => {
    c.beginPath();
    c.moveTo(left, y(v));
    c.lineTo(box.width - right, y(v));
    c.stroke();
    c.fillText(texts[i], left - 6, y(v));
  });
  c.textAlign = "center";
  c.textBaseline = "alphabetic";
  const ids = ticksOf(0, last, Math.max(2, Math.floor(box.width / 120)));
  ids.forEach((v) => c.fillText(String(Math.round(v)), Math.min(x(v), box.width - 20), box.height - 8));
  c.fillStyle = style.getPropertyValue("--mark");
  c.globalAlpha = 0.45;
  points.forEach((p) => { if (map(p[1]) <= high + room) { c.fillRect(x(p[0]) - 1.5, y(map(p[1])) - 1.5, 3, 3); } });
  c.globalAlpha = 1;
  c.strokeStyle = style.getPropertyValue("--best");
  c.lineWidth = 2.4;
  c.beginPath();
  best.filter((p) => !log || p[1] > 0).forEach((p, i) => {
    if (i > 0) { c.lineTo(x(p[0]), y(map(best[i - 1][1]))); }
    c[i > 0 ? "lineTo" : "moveTo"](x(p[0]), y(map(p[1])));
  });
  c.lineTo(x(state.evaluations), y(map(lowest)));
  c.stroke();
}

// Reports of the optimizer: the last value of each name, and a curve of all values, logarithmic if they span decades.
function showProgress() {
  place("scalars").replaceChildren(...Object.entries(state.progress).filter(([, marks]) => marks.length > 0).map(([name, marks]) => {
    const item = document.createElement("div"), last = document.createElement("b"), label = document.createElement("span");
    const svg = document.createElementNS(place("shapes").namespaceURI, "svg"), line = document.createElementNS(svg.namespaceURI, "polyline");
    const values = marks.map((m) => m[1]), low = Math.min(...values), high = Math.max(...values);
    const map = low > 0 && high > 30 * low ? Math.log : (v) => v, span = map(high) - map(low) || 1;
    svg.setAttribute("viewBox", "0 0 160 36");
    line.setAttribute("points", marks.map((m) => 160 * m[0] / Math.max(1, state.evaluations) + "," + (34 - 32 * (map(m[1]) - map(low)) / span)).join(" "));
    svg.append(line);
    last.textContent = numberText(values[values.length - 1]);
    label.textContent = " " + name;
    item.append(last, label, svg);
    return item;
  }));
}

function showEpisode() {
  place("note").textContent = state.page > 0
    ? "The best episode so far: evaluation " + state.page + (state.page !== state.best_id ? "; that of " + state.best_id + " comes" : "")
    : state.page_error ? "No episode is shown: " + state.page_error : "The best episode comes \u2026";
  if (state.page > 0 && state.page !== page) {
    page = state.page;
    place("page").src = "best.html?" + page;
    place("page").hidden = false;
  }
}

async function ask() {
  try {
    const answer = await fetch("state", { cache: "no-store" });
    if (!answer.ok) { throw new Error(String(answer.status)); }
    state = await answer.json();
    silent = 0;
    showNumbers();
    showPlot();
    showProgress();
    showEpisode();
    document.documentElement.dataset.ready = "yes";
  } catch (error) {
    silent++;
    if (silent > 2) { place("about").textContent = "dshost view does not answer any more (" + error.message + ")"; }
  }
  setTimeout(ask, silent > 2 ? 5000 : 1000);
}

place("log").addEventListener("change", () => { if (state) { showPlot(); } });
addEventListener("resize", () => { if (state) { showPlot(); } });
ask();
