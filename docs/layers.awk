# SPDX-License-Identifier: Apache-2.0
# layers.awk - draws docs/layers.svg from core/LAYERS: LC_ALL=C awk -f docs/layers.awk core/LAYERS > docs/layers.svg
# The ground is at the bottom. An arrow says "includes"; what follows from other arrows is left out.
/^# core/ { part = "core" }
/^# tools/ { part = "tools" }
/^#/ || NF == 0 { next }
{
    name = $1
    sub(/:$/, "", name)
    order[++count] = name
    of[name] = part
    level[name] = 0
    for (i = 2; i <= NF; i++) {
        uses[name, $i] = 1
        if (level[$i] + 1 > level[name]) {
            level[name] = level[$i] + 1
        }
    }
    if (level[name] > top) {
        top = level[name]
    }
}
# Does a reach b over at least two arrows?
function over(a, b, k, c) {
    for (k = 1; k <= count; k++) {
        c = order[k]
        if (((a, c) in uses) && c != b && (((c, b) in uses) || over(c, b))) {
            return 1
        }
    }
    return 0
}
END {
    wide = 118; high = 30; down = 64; left = 40
    # The host on the left, the tools on the right; boxes of one level and part side by side.
    for (k = 1; k <= count; k++) {
        seat[order[k]] = row[of[order[k]], level[order[k]]]++
    }
    for (l = 0; l <= top; l++) {
        for (p = 1; p <= 2; p++) {
            part = p == 1 ? "core" : "tools"
            most[part] = row[part, l] > most[part] ? row[part, l] : most[part]
        }
    }
    width = (most["core"] + most["tools"]) * (wide + 22) + 3 * left
    height = (top + 1) * down + 70
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\" font-size=\"14\">\n", width, height
    print "  <title>Folders of core and tools, and what each includes</title>"
    print "  <defs><marker id=\"a\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L10 5L0 10z\" fill=\"#667\"/></marker></defs>"
    printf "  <rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", width, height
    for (k = 1; k <= count; k++) {
        n = order[k]
        l = level[n]
        middle = most["core"] * (wide + 22) / 2 + left
        if (of[n] == "tools") {
            middle = width - most["tools"] * (wide + 22) / 2 - left
        }
        x[n] = middle + (seat[n] - (row[of[n], l] - 1) / 2) * (wide + 22)
        y[n] = height - 76 - l * down
    }
    print "  <g stroke=\"#667\" stroke-width=\"1.2\" marker-end=\"url(#a)\">"
    for (k = 1; k <= count; k++) {
        for (j = 1; j <= count; j++) {
            a = order[k]; b = order[j]
            if (((a, b) in uses) && !over(a, b)) {
                printf "    <path d=\"M%.0f %.0fL%.0f %.0f\"/>\n", x[a], y[a] + high / 2, x[b], y[b] - high / 2 - 2
            }
        }
    }
    print "  </g>"
    for (p = 1; p <= 2; p++) {
        part = p == 1 ? "core" : "tools"
        printf "  <g stroke=\"#444\" fill=\"%s\">\n", p == 1 ? "#e8eef8" : "#fdf1de"
        for (k = 1; k <= count; k++) {
            n = order[k]
            if (of[n] == part) {
                printf "    <rect x=\"%.0f\" y=\"%.0f\" width=\"%d\" height=\"%d\" rx=\"5\"/>\n", x[n] - wide / 2, y[n] - high / 2, wide, high
            }
        }
        print "  </g>"
    }
    print "  <g text-anchor=\"middle\">"
    for (k = 1; k <= count; k++) {
        n = order[k]
        printf "    <text x=\"%.0f\" y=\"%.0f\">%s/%s</text>\n", x[n], y[n] + 5, of[n], n
    }
    print "  </g>"
    print "  <g font-size=\"13\" fill=\"#333\">"
    printf "    <text x=\"%d\" y=\"%d\">Blue: the host and libdiffsim. Yellow: what its commands are made of.</text>\n", left, height - 32
    printf "    <text x=\"%d\" y=\"%d\">An arrow says \"includes\"; what follows from other arrows is left out.</text>\n", left, height - 12
    print "  </g>"
    print "</svg>"
}
