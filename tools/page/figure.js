// SPDX-License-Identifier: Apache-2.0
// figure.js - makes SVG figures of a page interactive: shows values at the pointer or the arrow keys, and hides a curve
// when its entry of the legend is clicked. It reads everything from the groups of the SVG, which have a class and a name
// (ds_canvas_group() in plot/canvas.h); without the script the figures look as on paper.
(() => {
"use strict";

// Formats a number as the figures do: four digits, a minus sign instead of a hyphen.
const show = (v) => {
    if (!Number.isFinite(v)) return "none";
    const a = Math.abs(v);
    const text = a !== 0 && (a < 1e-3 || a >= 1e5) ? v.toExponential(3).replace(/\.?0+e/, "e").replace("e+", "e") : String(Number(v.toPrecision(4)));
    return text.replace(/-/g, "\u2212");
};

// Reads the scale of an axis from its text: kind, values at the ends, symlog's linear part, pixels at the ends.
const scale = (word) => {
    const [low, high, linear, from, to] = word.slice(1, 6).map(Number), kind = word[0];
    const warp = kind === "log" ? Math.log10 : kind === "symlog" ? (v) => Math.asinh(v / linear) : (v) => v;
    const back = kind === "log" ? (u) => 10 ** u : kind === "symlog" ? (u) => linear * Math.sinh(u) : (u) => u;
    const a = warp(low), b = warp(high);
    return { kind, from, to, value: (p) => back(a + (b - a) * (p - from) / (to - from)) };
};

// Corners of a polyline, a polygon, or a path of M, L, H, V.
const corners = (shape) => {
    if (shape.hasAttribute("points")) {
        return shape.getAttribute("points").trim().split(/\s+/).map((p) => p.split(",").map(Number));
    }
    const out = [];
    for (const [, letter, rest] of shape.getAttribute("d").matchAll(/([MLHV])([^MLHVZ]*)/g)) {
        const v = rest.trim().split(/[\s,]+/).map(Number), last = out[out.length - 1];
        out.push(letter === "H" ? [v[0], last[1]] : letter === "V" ? [last[0], v[0]] : v);
    }
    return out;
};

const shapes = (group) => [...group.querySelectorAll("polyline,polygon,path,circle")].map((s) =>
    s.tagName === "circle" ? [[Number(s.getAttribute("cx")), Number(s.getAttribute("cy"))]] : corners(s));

// Height of a line at x. A step curve keeps its height until the next corner, and after the last one.
const height = (pieces, x, stairs) => {
    let found = NaN;
    for (const p of pieces) {
        if (p.length === 0 || x < p[0][0] - 0.5) continue;
        const end = p[p.length - 1];
        if (x >= end[0]) {
            if (stairs || x < end[0] + 0.5) found = end[1];
            continue;
        }
        let i = 0;
        while (i + 1 < p.length && p[i + 1][0] <= x) i++;
        const [x0, y0] = p[i], [x1, y1] = p[Math.min(i + 1, p.length - 1)];
        found = stairs || !(x1 > x0) ? y0 : y0 + (y1 - y0) * (x - x0) / (x1 - x0);
    }
    return found;
};

// Where the vertical at x crosses the outline of a band.
const across = (pieces, x) => {
    let low = Infinity, high = -Infinity;
    for (const p of pieces) {
        for (let i = 0; i < p.length; i++) {
            const [x0, y0] = p[i], [x1, y1] = p[(i + 1) % p.length];
            if (x0 === x1 || x < Math.min(x0, x1) || x > Math.max(x0, x1)) continue;
            const y = y0 + (y1 - y0) * (x - x0) / (x1 - x0);
            low = Math.min(low, y);
            high = Math.max(high, y);
        }
    }
    return low <= high ? [high, low] : null;
};

// The colour on the screen, which a dark page changes.
const colorOf = (drawn) => {
    const style = getComputedStyle(drawn);
    return style.stroke === "none" ? style.fill : style.stroke;
};

const element = (tag, text) => {
    const e = document.createElement(tag);
    if (text !== undefined) e.textContent = text;
    return e;
};

const tip = element("div");
tip.className = "tip";
tip.hidden = true;
tip.setAttribute("role", "status");
document.body.append(tip);

// Places the box next to a point of the screen, inside the window.
const place = (x, y) => {
    tip.hidden = false;
    const w = tip.offsetWidth, h = tip.offsetHeight, wide = document.documentElement.clientWidth;
    const left = x + 16 + w < wide ? x + 16 : x - 16 - w;
    tip.style.left = Math.max(4, Math.min(wide - w - 4, left)) + window.scrollX + "px";
    tip.style.top = Math.max(4, Math.min(window.innerHeight - h - 4, y + 12)) + window.scrollY + "px";
};

const make = (svg) => {
    const word = svg.querySelector(".frame").dataset.name.split(" ");
    const x = scale(word.slice(0, 6)), y = scale(word.slice(6, 12)), label = word.slice(12).join(" ");
    const off = new Set(), series = new Map();
    for (const g of svg.querySelectorAll(".line,.stairs,.band")) {
        const s = series.get(g.dataset.name) || { name: g.dataset.name };
        if (g.classList.contains("band")) {
            s.band = g;
        } else {
            s.line = g;
            s.stairs = g.classList.contains("stairs");
            s.drawn = g.querySelector("[stroke],[fill]");
        }
        series.set(s.name, s);
    }
    const cross = document.createElementNS(svg.namespaceURI, "line");
    cross.setAttribute("class", "cross");
    cross.style.display = "none";
    svg.append(cross);
    svg.setAttribute("role", "group");
    let at = (x.from + x.to) / 2;

    const leave = () => {
        cross.style.display = "none";
        tip.hidden = true;
    };

    // Shows the values at pixel `at` next to the point (left, top) of the screen.
    const tell = (left, top) => {
        const rows = [];
        for (const s of series.values()) {
            if (off.has(s.name) || !s.line) continue;
            s.path = s.path || shapes(s.line);
            const v = height(s.path, at, s.stairs);
            if (!Number.isFinite(v)) continue;
            if (s.band) s.edge = s.edge || shapes(s.band);
            rows.push({ s, v, band: s.band ? across(s.edge, at) : null });
        }
        rows.sort((a, b) => a.v - b.v);
        tip.replaceChildren(element("b", (label ? label + ": " : "") + show(x.value(at))));
        const table = element("table");
        for (const r of rows) {
            const tr = element("tr"), name = element("td"), dot = element("i");
            dot.style.background = colorOf(r.s.drawn);
            name.append(dot, r.s.name);
            tr.append(name, element("td", show(y.value(r.v))));
            tr.append(element("td", r.band ? show(y.value(r.band[0])) + " \u2026 " + show(y.value(r.band[1])) : ""));
            table.append(tr);
        }
        if (rows.length > 0) tip.append(table);
        for (const [k, v] of [["x1", at], ["x2", at], ["y1", y.from], ["y2", y.to]]) cross.setAttribute(k, v);
        cross.style.display = "";
        place(left, top);
    };

    const point = (event) => {
        const row = event.target.closest && event.target.closest(".row");
        if (row && row.dataset.words) {
            cross.style.display = "none";
            tip.replaceChildren(row.dataset.words.replace(/; /g, "\n"));
            place(event.clientX, event.clientY);
            return;
        }
        const p = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
        if (series.size === 0 || p.x < x.from || p.x > x.to || p.y < Math.min(y.from, y.to) || p.y > Math.max(y.from, y.to)) {
            leave();
            return;
        }
        at = p.x;
        tell(event.clientX, event.clientY);
    };
    if (series.size > 0 || svg.querySelector(".row")) {
        svg.addEventListener("pointermove", point);
        svg.addEventListener("pointerdown", point);
        svg.addEventListener("pointerleave", leave);
        svg.addEventListener("blur", leave);
    }

    // The script shows the title at once, so the delayed tooltip of the browser is removed.
    for (const row of svg.querySelectorAll(".row")) {
        const title = row.querySelector("title");
        if (title) {
            row.dataset.words = title.textContent;
            row.setAttribute("aria-label", title.textContent);
            title.remove();
        }
    }
    if (series.size > 0) {
        svg.setAttribute("tabindex", "0");
        svg.addEventListener("keydown", (event) => {
            const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
            if (event.key === "Escape") leave();
            if (step === undefined || event.target !== svg) return;
            event.preventDefault();
            at = Math.max(x.from, Math.min(x.to, at + step * (x.to - x.from) / (event.shiftKey ? 20 : 100)));
            const p = new DOMPoint(at, (y.from + y.to) / 2).matrixTransform(svg.getScreenCTM());
            tell(p.x, p.y);
        });
    }

    for (const entry of svg.querySelectorAll(".entry")) {
        const name = entry.dataset.name;
        const turn = () => {
            const gone = !off.has(name);
            gone ? off.add(name) : off.delete(name);
            for (const g of svg.querySelectorAll(".line,.stairs,.band,.marks")) {
                if (g.dataset.name === name) g.classList.toggle("gone", gone);
            }
            (entry.closest(".row") || entry).classList.toggle("off", gone);
            entry.setAttribute("aria-pressed", String(!gone));
            leave();
        };
        entry.setAttribute("role", "button");
        entry.setAttribute("tabindex", "0");
        entry.setAttribute("aria-pressed", "true");
        entry.setAttribute("aria-label", name);
        entry.addEventListener("click", turn);
        entry.addEventListener("keydown", (event) => {
            if (event.key === "Enter" || event.key === " ") {
                event.preventDefault();
                turn();
            }
        });
    }
};

const figures = [...document.querySelectorAll("figure svg")].filter((svg) =>
    svg.querySelector(".frame") && svg.querySelector(".entry,.line,.stairs"));
figures.forEach(make);
if (figures.some((svg) => svg.querySelector(".line,.stairs,.row"))) {
    const hint = element("p", "Point at a figure, or focus it and use the arrow keys, for its values; a name in a legend hides what it names.");
    hint.className = "hint";
    figures[0].closest("figure").before(hint);
}

// For scripts of a page that come after this one.
window.figureTools = { show, scale, element, tip, place };
})();
