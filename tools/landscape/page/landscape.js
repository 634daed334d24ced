// SPDX-License-Identifier: Apache-2.0
// landscape.js - makes landscape.html interactive: shows values, gradients and evaluations of runs at the pointer,
// switches the layers of the map, and draws the losses as a surface to turn. Canvas 2D is enough: a height field that is
// drawn from back to front needs no depth buffer.
(() => {
"use strict";
const { show, scale, element, tip, place } = window.figureTools;
const data = JSON.parse(document.getElementById("data").textContent);
const numbers = (text) => {
    if (!text) return null;
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    return new Float32Array(bytes.buffer);
};
const loss = numbers(data.loss), g0 = numbers(data.g0), g1 = numbers(data.g1);
const [ax, ay] = data.axes, nx = ax.count, ny = ay ? ay.count : 1;
const at = (axis, i) => axis.low + (axis.high - axis.low) * i / Math.max(1, axis.count - 1);
const near = (axis, v) => Math.max(0, Math.min(axis.count - 1, Math.round((v - axis.low) / (axis.high - axis.low) * (axis.count - 1))));

// ---- colours (viridis, as in the image) ----

const stops = [0x440154, 0x481a6c, 0x472f7d, 0x414487, 0x39568c, 0x31688e, 0x2a788e, 0x23888e,
    0x1f988b, 0x22a884, 0x35b779, 0x54c568, 0x7ad151, 0xa5db36, 0xd2e21b, 0xfde725];
const color = (t, light) => {
    const p = Math.max(0, Math.min(1, t)) * 15, k = Math.min(14, Math.floor(p)), s = p - k;
    const part = (shift) => Math.round(light * ((1 - s) * (stops[k] >> shift & 255) + s * (stops[k + 1] >> shift & 255)));
    return "rgb(" + part(16) + "," + part(8) + "," + part(0) + ")";
};
let least = Infinity, most = -Infinity;
for (const v of loss) {
    if (Number.isFinite(v) && (!data.log || v > 0)) {
        least = Math.min(least, v);
        most = Math.max(most, v);
    }
}
if (data.cut !== null) most = Math.min(most, data.cut);
const warp = data.log ? (v) => Math.log(v) : (v) => v;
const share = (v) => most > least ? Math.min(1, (warp(v) - warp(least)) / (warp(most) - warp(least))) : 0.5;

// ---- words ----

const rows = (title, pairs) => {
    tip.replaceChildren(element("b", title));
    const table = element("table");
    for (const [name, value] of pairs) {
        const tr = element("tr");
        tr.append(element("td", name), element("td", value));
        table.append(tr);
    }
    tip.append(table);
};

// Point i, j of the grid.
const tellPoint = (i, j) => {
    const k = j * nx + i, pairs = [[ax.label, show(at(ax, i))]];
    if (ay) pairs.push([ay.label, show(at(ay, j))]);
    pairs.push(["loss", Number.isFinite(loss[k]) ? show(loss[k]) : "no value"]);
    if (g0) pairs.push(["gradient", show(g0[k]) + (g1 ? ", " + show(g1[k]) : "")]);
    rows("Point of the grid", pairs);
};

const tellEvaluation = (path, p) => rows(path.title, [["evaluation", String(p[0])], ["loss", p[3] === null ? "no value" : show(p[3])],
    [ax.label, show(p[1])], ...(ay ? [[ay.label, show(p[2])]] : [])]);

// ---- the map, and the panels over a line ----

const watch = (svg) => {
    const frames = [...svg.querySelectorAll(".frame")].map((g) => {
        const word = g.dataset.name.split(" ");
        return { x: scale(word.slice(0, 6)), y: scale(word.slice(6, 12)) };
    });
    const x = frames[0].x, back = (p) => [p.clientX, p.clientY];
    const cross = document.createElementNS(svg.namespaceURI, "line");
    cross.setAttribute("class", "cross");
    svg.append(cross);
    cross.style.display = "none";
    const leave = () => {
        tip.hidden = true;
        cross.style.display = "none";
    };
    const pixel = (s, axis, v) => s.from + (s.to - s.from) * (v - axis.low) / (axis.high - axis.low);
    const evaluation = (p) => {
        let best = null, distance = 8;
        for (const path of ay ? data.paths : []) {
            const hidden = [...svg.querySelectorAll(".marks.gone")].some((g) => g.dataset.name.startsWith(path.title + ":"));
            for (const one of hidden ? [] : path.point) {
                const d = Math.hypot(pixel(frames[0].x, ax, one[1]) - p.x, pixel(frames[0].y, ay, one[2]) - p.y);
                if (d < distance) [best, distance] = [[path, one], d];
            }
        }
        return best;
    };
    const point = (event) => {
        const p = new DOMPoint(...back(event)).matrixTransform(svg.getScreenCTM().inverse());
        const inside = frames.some((f) => p.x >= f.x.from - 1 && p.x <= f.x.to + 1 &&
            p.y >= Math.min(f.y.from, f.y.to) - 1 && p.y <= Math.max(f.y.from, f.y.to) + 1);
        if (!inside) return leave();
        const found = evaluation(p);
        if (found) {
            tellEvaluation(...found);
        } else {
            tellPoint(near(ax, x.value(p.x)), ay ? near(ay, frames[0].y.value(p.y)) : 0);
        }
        if (!ay) {
            const f = frames[frames.length - 1];
            for (const [k, v] of [["x1", p.x], ["x2", p.x], ["y1", frames[0].y.to], ["y2", f.y.from]]) cross.setAttribute(k, v);
            cross.style.display = "";
        }
        place(event.clientX, event.clientY);
    };
    svg.addEventListener("pointermove", point);
    svg.addEventListener("pointerdown", point);
    svg.addEventListener("pointerleave", leave);
};
for (const id of ["landscape", "gradient"]) {
    const svg = document.querySelector("#" + id + " svg");
    if (svg && svg.querySelector(".frame")) watch(svg);
}

// ---- switches ----

const bar = document.getElementById("tools");
const button = (text, pressed, turn) => {
    const b = element("button", text);
    b.type = "button";
    b.setAttribute("aria-pressed", String(pressed));
    b.addEventListener("click", () => {
        const now = b.getAttribute("aria-pressed") !== "true";
        b.setAttribute("aria-pressed", String(now));
        turn(now);
    });
    bar.append(b);
    return b;
};
const shown = { contours: true, arrows: true, path: true, surface: false };
const map = document.querySelector("#landscape svg");
const layer = (text, kind, groups) => {
    const found = map ? [...map.querySelectorAll(groups)].filter((g) => g.childElementCount > 0) : [];
    if (found.length === 0) return;
    button(text, true, (now) => {
        shown[kind] = now;
        found.forEach((g) => g.classList.toggle("gone", !now));
        if (surface) surface.draw();
    });
};

// ---- the surface ----

const makeSurface = () => {
    const figure = element("figure"), canvas = element("canvas"), pen = canvas.getContext("2d");
    figure.id = "surface";
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", "Surface of the loss over " + ax.label + " and " + ay.label + "; arrow keys turn it, plus and minus zoom");
    figure.append(canvas, element("figcaption", "Drag to turn, wheel or two fingers to zoom; with the keyboard arrows, + and \u2212."));
    figure.lastChild.className = "s";
    document.querySelector("#landscape").before(figure);
    const step = Math.max(1, Math.ceil(Math.max(nx, ny) / 120));
    const ix = [], iy = [];
    for (let i = 0; i < nx; i += step) ix.push(i);
    for (let j = 0; j < ny; j += step) iy.push(j);
    if (ix[ix.length - 1] !== nx - 1) ix.push(nx - 1);
    if (iy[iy.length - 1] !== ny - 1) iy.push(ny - 1);
    let turn = -0.6, lift = 0.6, zoom = 1, held = null;
    let sx = null, sy = null;

    // Coordinates of the unit cube: x to the right, y into the depth, z up.
    const project = (x, y, z) => {
        const c = Math.cos(turn), s = Math.sin(turn), w = canvas.width, h = canvas.height;
        const u = (x - 0.5) * c - (y - 0.5) * s, d = (x - 0.5) * s + (y - 0.5) * c;
        const size = zoom * Math.min(w / (canvas.clientWidth < 600 ? 2.1 : 1.75), h / 1.45);
        return [w / 2 + size * u, h * 0.46 - size * (d * Math.sin(lift) + (z - 0.5) * 0.6 * Math.cos(lift))];
    };
    const heightAt = (x, y) => {
        const i = Math.round(x * (nx - 1)), j = Math.round(y * (ny - 1));
        const v = loss[Math.max(0, Math.min(ny - 1, j)) * nx + Math.max(0, Math.min(nx - 1, i))];
        return Number.isFinite(v) && (!data.log || v > 0) ? share(v) : NaN;
    };
    const line = (a, b, width, style) => {
        pen.lineWidth = width;
        pen.strokeStyle = style;
        pen.beginPath();
        pen.moveTo(...a);
        pen.lineTo(...b);
        pen.stroke();
    };

    const drawAxes = (dot, ink) => {
        const font = Math.round((canvas.clientWidth < 600 ? 11 : 13) * dot) + "px 'DejaVu Sans', Verdana, sans-serif";
        pen.font = font;
        pen.fillStyle = ink;
        pen.textAlign = "center";
        const corner = [[0, 0], [1, 0], [1, 1], [0, 1]];
        corner.forEach(([x, y], k) => line(project(x, y, 0), project(...corner[(k + 1) % 4], 0), dot, ink));
        // Label the edges that are nearest to the camera.
        const yFront = Math.cos(turn) > 0 ? 0 : 1, xFront = Math.sin(turn) > 0 ? 0 : 1;
        const below = (x, y, text, far) => {
            const p = project(x, y, 0), c = project(0.5, 0.5, 0), d = Math.hypot(p[0] - c[0], p[1] - c[1]) || 1;
            pen.textAlign = Math.abs(p[0] - c[0]) < d * 0.3 ? "center" : p[0] < c[0] ? "right" : "left";
            pen.fillText(text, p[0] + (p[0] - c[0]) / d * far * dot, p[1] + (p[1] - c[1]) / d * far * dot + 6 * dot);
        };
        const room = canvas.clientWidth < 600 ? 16 : 34;
        const short = (t) => t.length > room ? t.slice(0, room - 1) + "\u2026" : t;
        below(0.5, yFront, short(ax.label), 26);
        below(0.12, yFront, show(at(ax, 0)), 14);
        below(0.88, yFront, show(at(ax, nx - 1)), 14);
        below(xFront, 0.5, short(ay.label), 26);
        below(xFront, 0.12, show(at(ay, 0)), 14);
        below(xFront, 0.88, show(at(ay, ny - 1)), 14);
        const side = [1 - xFront, yFront], low = project(...side, 0), high = project(...side, 1);
        line(low, high, dot, ink);
        const left = low[0] < canvas.width / 2;
        pen.textAlign = left ? "right" : "left";
        pen.fillText("loss " + show(least), low[0] + (left ? -8 : 8) * dot, low[1]);
        pen.fillText(show(most) + (data.cut !== null ? " (cut)" : ""), high[0] + (left ? -8 : 8) * dot, high[1]);
    };

    const ARROW = 0.028; // length, in widths of the slice
    const every = Math.max(1, Math.round((ix.length - 1) / 18)), up = Math.max(1, Math.round((iy.length - 1) / 18));
    const drawArrow = (a, b, dot) => {
        if (a % every !== Math.floor(every / 2) || b % up !== Math.floor(up / 2)) return;
        const i = ix[a], j = iy[b], size = ARROW;
        const u = -g0[j * nx + i] * (ax.high - ax.low), v = -g1[j * nx + i] * (ay.high - ay.low), d = Math.hypot(u, v);
        const x = i / (nx - 1), y = j / (ny - 1), x1 = x + size * u / d, y1 = y + size * v / d, z = heightAt(x, y);
        if (!(d > 0) || !(x1 >= 0 && x1 <= 1 && y1 >= 0 && y1 <= 1)) return;
        const z1 = heightAt(x1, y1);
        if (!(Math.abs(z1 - z) < 0.1)) return; // an arrow across a jump has no meaning
        const p = project(x, y, z + 0.01), q = project(x1, y1, z1 + 0.01);
        line(p, q, 2.6 * dot, "#0007");
        line(p, q, 1.2 * dot, "#fff");
        pen.fillStyle = "#fff";
        pen.beginPath();
        pen.arc(...q, 1.8 * dot, 0, 7);
        pen.fill();
    };

    const drawFaces = (dot) => {
        // Draw far rows and columns first; the rotation decides which ones are far.
        const far = Math.cos(turn) > 0 ? -1 : 1, farX = Math.sin(turn) > 0 ? -1 : 1;
        const I = [...ix.keys()].slice(0, -1), J = [...iy.keys()].slice(0, -1);
        if (far < 0) J.reverse();
        if (farX < 0) I.reverse();
        const z = (a, b) => heightAt(ix[a] / (nx - 1), iy[b] / (ny - 1));
        const face = (a, b) => {
            const k = [[a, b], [a + 1, b], [a + 1, b + 1], [a, b + 1]], h = k.map((c) => z(...c));
            if (h.some((v) => !Number.isFinite(v))) return;
            const slopeX = (h[1] + h[2] - h[0] - h[3]) / 2 * (nx - 1) / (ix[a + 1] - ix[a]);
            const slopeY = (h[2] + h[3] - h[0] - h[1]) / 2 * (ny - 1) / (iy[b + 1] - iy[b]);
            const light = 0.78 + 0.22 * (1 - 0.35 * slopeX + 0.35 * slopeY) / Math.hypot(1, slopeX, slopeY);
            const style = color((h[0] + h[1] + h[2] + h[3]) / 4, Math.max(0.45, Math.min(1.08, light)));
            pen.fillStyle = pen.strokeStyle = style;
            pen.lineWidth = 0.7;
            pen.beginPath();
            k.forEach(([p, q], c) => pen.lineTo(...project(ix[p] / (nx - 1), iy[q] / (ny - 1), h[c])));
            pen.closePath();
            pen.fill();
            pen.stroke();
            // Contours: where a level crosses the face.
            if (shown.contours) drawLevels(k, h);
        };
        // Rows follow the axis that is more nearly across the view, so that depth grows from row to row. An arrow is drawn
        // after the rows that it reaches into; rows in front of these hide it.
        const rowsOfY = Math.abs(Math.cos(turn)) >= Math.abs(Math.sin(turn));
        const [outer, inner] = rowsOfY ? [J, I] : [I, J], late = Math.ceil(ARROW * outer.length) + 1;
        outer.forEach((row, n) => {
            for (const c of inner) rowsOfY ? face(c, row) : face(row, c);
            if (!shown.arrows || !g1) return;
            const ready = n + 1 < outer.length ? [outer[n - late]] : outer.slice(Math.max(0, n - late));
            for (const r of ready) {
                for (const c of r === undefined ? [] : inner) rowsOfY ? drawArrow(c, r, dot) : drawArrow(r, c, dot);
            }
        });
    };
    const LEVELS = 12;
    const drawLevels = (k, h) => {
        const low = Math.min(...h), high = Math.max(...h);
        for (let n = Math.ceil(low * LEVELS); n <= high * LEVELS; n++) {
            const level = n / LEVELS, cut = [];
            for (let c = 0; c < 4; c++) {
                const d = (c + 1) % 4;
                if ((h[c] < level) !== (h[d] < level)) {
                    const s = (level - h[c]) / (h[d] - h[c]);
                    cut.push(project((ix[k[c][0]] + s * (ix[k[d][0]] - ix[k[c][0]])) / (nx - 1),
                        (iy[k[c][1]] + s * (iy[k[d][1]] - iy[k[c][1]])) / (ny - 1), level));
                }
            }
            for (let c = 0; c + 1 < cut.length; c += 2) line(cut[c], cut[c + 1], 1, "#0006");
        }
    };

    const pathColors = ["#d55e00", "#cc79a7", "#e69f00", "#56b4e9", "#f0e442", "#0072b2", "#009e73"];
    const drawPaths = (dot) => data.paths.forEach((path, n) => {
        let last = null;
        for (const [, cx, cy, , better] of path.point) {
            const x = (cx - ax.low) / (ax.high - ax.low), y = (cy - ay.low) / (ay.high - ay.low), z = heightAt(x, y);
            if (!(x >= 0 && x <= 1 && y >= 0 && y <= 1) || !Number.isFinite(z)) continue;
            const p = project(x, y, z + 0.012);
            if (better && last) {
                line(last, p, 4 * dot, "#fffc");
                line(last, p, 2.2 * dot, pathColors[n % 7]);
            }
            pen.fillStyle = pathColors[n % 7];
            pen.strokeStyle = "#fff";
            pen.lineWidth = 0.8 * dot;
            pen.beginPath();
            pen.arc(...p, (better ? 4 : 2.4) * dot, 0, 7);
            pen.fill();
            pen.stroke();
            last = better ? p : last;
        }
    });

    const draw = () => {
        if (figure.hidden) return;
        const dot = Math.min(2, window.devicePixelRatio || 1);
        const w = Math.round(canvas.clientWidth * dot), h = Math.round(canvas.clientHeight * dot);
        if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
        pen.clearRect(0, 0, w, h);
        drawAxes(dot, getComputedStyle(canvas).color);
        drawFaces(dot);
        if (shown.path) drawPaths(dot);
        sx = null;
    };
    let waiting = false;
    const soon = () => {
        if (waiting) return;
        waiting = true;
        requestAnimationFrame(() => {
            waiting = false;
            draw();
        });
    };

    // The grid point nearest to the pointer on the screen; of equally near points, the one in front.
    const tell = (event) => {
        const dot = canvas.width / canvas.clientWidth, box = canvas.getBoundingClientRect();
        const px = (event.clientX - box.left) * dot, py = (event.clientY - box.top) * dot;
        if (!sx) {
            sx = new Float32Array(nx * ny);
            sy = new Float32Array(nx * ny);
            for (let j = 0, k = 0; j < ny; j++) {
                for (let i = 0; i < nx; i++, k++) [sx[k], sy[k]] = project(i / (nx - 1), j / (ny - 1), heightAt(i / (nx - 1), j / (ny - 1)));
            }
        }
        let best = -1, score = Infinity;
        for (let k = 0; k < nx * ny; k++) {
            const d = Math.hypot(sx[k] - px, sy[k] - py);
            const x = k % nx / (nx - 1), y = Math.floor(k / nx) / (ny - 1);
            const depth = x * Math.sin(turn) + y * Math.cos(turn);
            const s = d > 14 * dot ? Infinity : d / dot + 40 * depth;
            if (s < score) [best, score] = [k, s];
        }
        if (best < 0) {
            tip.hidden = true;
            return;
        }
        tellPoint(best % nx, Math.floor(best / nx));
        place(event.clientX, event.clientY);
    };

    const fingers = new Map();
    const spread = () => {
        const [a, b] = [...fingers.values()];
        return Math.hypot(a.x - b.x, a.y - b.y);
    };
    canvas.addEventListener("pointerdown", (event) => {
        canvas.setPointerCapture(event.pointerId);
        fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
        held = { x: event.clientX, y: event.clientY, turn, lift, zoom, spread: fingers.size === 2 ? spread() : 0 };
    });
    canvas.addEventListener("pointermove", (event) => {
        if (!held || fingers.size === 0) return tell(event);
        fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
        tip.hidden = true;
        if (fingers.size === 2 && held.spread > 0) {
            zoom = Math.max(0.5, Math.min(6, held.zoom * spread() / held.spread));
        } else if (fingers.size === 1) {
            turn = held.turn + (event.clientX - held.x) * 0.008;
            lift = Math.max(0.08, Math.min(1.5, held.lift + (event.clientY - held.y) * 0.006));
        }
        soon();
    });
    const release = (event) => {
        fingers.delete(event.pointerId);
        held = null;
    };
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
    canvas.addEventListener("wheel", (event) => {
        event.preventDefault();
        zoom = Math.max(0.5, Math.min(6, zoom * Math.exp(-event.deltaY * 0.0012)));
        soon();
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
        const move = { ArrowLeft: [-0.1, 0, 1], ArrowRight: [0.1, 0, 1], ArrowUp: [0, 0.06, 1], ArrowDown: [0, -0.06, 1],
            "+": [0, 0, 1.15], "=": [0, 0, 1.15], "-": [0, 0, 1 / 1.15] }[event.key];
        if (!move) return;
        event.preventDefault();
        turn += move[0];
        lift = Math.max(0.08, Math.min(1.5, lift + move[1]));
        zoom = Math.max(0.5, Math.min(6, zoom * move[2]));
        soon();
    });
    window.addEventListener("resize", soon);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", soon);
    figure.hidden = true;
    return { figure, draw };
};

let surface = null;
if (ay && most > least) {
    button("Surface", false, (now) => {
        surface = surface || makeSurface();
        shown.surface = now;
        surface.figure.hidden = !now;
        document.getElementById("landscape").hidden = now;
        surface.draw();
    });
}
layer("Contours", "contours", "#landscape svg .contours");
layer("Arrows", "arrows", "#landscape svg .arrows");
layer("Path", "path", "#landscape svg .marks");
const hint = element("p", "Point at the map for its values" + (data.paths.length > 0 ? ", at a mark for its evaluation" : "") + ".");
hint.className = "hint";
bar.after(hint);
})();
