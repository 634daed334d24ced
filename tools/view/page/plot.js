// SPDX-License-Identifier: Apache-2.0
// plot.js - curves over time with a mark at the time shown.

// Okabe and Ito's colours, as in the other figures; yellow and light blue are swapped for light pages.
const SERIES = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8a8a8a"];
const seriesColor = (i) => SERIES[i % SERIES.length];

// At most `most` round numbers from low to high.
function ticksOf(low, high, most) {
  const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((m) => m * power >= rough), ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) { ticks.push(k * step); }
  return ticks;
}

// The ticks as text, with enough digits to distinguish them.
function tickTexts(ticks) {
  const step = ticks.length > 1 ? ticks[1] - ticks[0] : Math.abs(ticks[0]) || 1, most = Math.max(...ticks.map(Math.abs), step);
  const decimals = Math.max(0, Math.ceil(-Math.log10(step) - 1e-6));
  return ticks.map((v) => (most >= 1e6 || step < 1e-5 ? v.toExponential(clamp(Math.ceil(Math.log10(most / step)), 1, 6))
    : v.toFixed(decimals)).replace("-", "\u2212"));
}

class Plot {
  constructor(canvas, seek) {
    this.canvas = canvas;
    this.room = { left: 68, right: 14, top: 8, bottom: 26 };
    const go = (event) => {
      if (event.buttons === 0 || !this.range) { return; }
      const box = canvas.getBoundingClientRect(), wide = box.width - this.room.left - this.room.right;
      seek(clamp((event.clientX - box.left - this.room.left) / wide, 0, 1) * this.range.time);
    };
    canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); go(event); });
    canvas.addEventListener("pointermove", go);
  }

  // curves: { times, values (null = undefined), color }; they share their axes.
  show(curves, unit) {
    const all = curves.flatMap((c) => c.values).filter((v) => v !== null);
    let low = all.reduce((a, b) => Math.min(a, b), Infinity), high = all.reduce((a, b) => Math.max(a, b), -Infinity);
    if (!(low <= high)) { low = 0; high = 1; }
    const size = Math.max(Math.abs(low), Math.abs(high)), same = high - low <= 1e-6 * size; // equal up to rounding
    const room = same ? 0.5 * size || 0.5 : 0.06 * (high - low);
    this.curves = curves;
    this.unit = unit;
    this.range = { low: low - room, high: high + room, time: Math.max(...curves.map((c) => c.times[c.times.length - 1]), 1e-9) };
  }

  draw(time) {
    const canvas = this.canvas, ratio = window.devicePixelRatio || 1, box = canvas.getBoundingClientRect();
    if (!this.curves || box.width < 100) { return; }
    canvas.width = Math.round(box.width * ratio);
    canvas.height = Math.round(box.height * ratio);
    const c = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
    c.scale(ratio, ratio);
    c.font = "12px 'DejaVu Sans', Verdana, sans-serif";
    const levels = ticksOf(this.range.low, this.range.high, 5), texts = tickTexts(levels);
    this.room.left = 16 + Math.max(24, ...texts.map((t) => c.measureText(t).width));
    const { left, right, top, bottom } = this.room, { low, high } = this.range;
    const wide = box.width - left - right, tall = box.height - top - bottom;
    const x = (t) => left + wide * t / this.range.time, y = (v) => top + tall * (high - v) / (high - low);
    this.axes(c, style, box, x, y, levels, texts);
    this.curves.forEach((curve) => this.curve(c, curve, x, y));
    c.strokeStyle = style.getPropertyValue("--text");
    c.lineWidth = 1;
    c.beginPath();
    c.moveTo(x(Math.min(time, this.range.time)), top);
    c.lineTo(x(Math.min(time, this.range.time)), top + tall);
    c.stroke();
    this.curves.forEach((curve) => this.dot(c, curve, time, x, y));
  }

  axes(c, style, box, x, y, levels, texts) {
    const { left, right, top, bottom } = this.room;
    c.lineWidth = 1;
    c.strokeStyle = style.getPropertyValue("--line");
    c.fillStyle = style.getPropertyValue("--soft");
    c.textAlign = "right";
    c.textBaseline = "middle";
    levels.forEach((v, i) => {
      c.beginPath();
      c.moveTo(left, y(v));
      c.lineTo(box.width - right, y(v));
      c.stroke();
      c.fillText(texts[i], left - 6, y(v));
    });
    c.textAlign = "center";
    c.textBaseline = "alphabetic";
    const ticks = ticksOf(0, this.range.time, Math.max(2, Math.floor(box.width / 110)));
    const times = tickTexts(ticks);
    ticks.forEach((t, i) => c.fillText(times[i] + (i === ticks.length - 1 ? " s" : ""),
      Math.min(x(t), box.width - 22), box.height - 8));
    if (this.unit) {
      c.textAlign = "left";
      c.fillText(this.unit, left + 4, top + 11);
    }
    c.strokeRect(left, top, box.width - left - right, box.height - top - bottom);
  }

  curve(c, curve, x, y) {
    let open = false;
    c.strokeStyle = curve.color;
    c.lineWidth = 2;
    c.lineJoin = "round";
    c.beginPath();
    curve.values.forEach((v, k) => {
      if (v === null) { open = false; return; }
      c[open ? "lineTo" : "moveTo"](x(curve.times[k]), y(v));
      open = true;
    });
    c.stroke();
  }

  dot(c, curve, time, x, y) {
    const { frame } = momentOf(curve, time), v = curve.values[frame];
    if (v === null) { return; }
    c.fillStyle = curve.color;
    c.beginPath();
    c.arc(x(curve.times[frame]), y(v), 4, 0, 2 * Math.PI);
    c.fill();
  }
}
