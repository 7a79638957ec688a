// Views that are drawn: heat maps, lines, trees, arcs, charts and lattices.
import { draw, drawing, el, figure, round, share, short, text, widthOf } from "./dom.js";

// Small drawings grow with the room that they have, up to what is still comfortable to read; a little too wide ones shrink.
const LARGEST = 1.45, SMALLEST = 0.78;
function scroll(svg, label, context, largest = LARGEST) {
  const { width, height } = svg.viewBox.baseVal;
  const scale = (context.scale || 1) * fitting((context.width || width) / width, largest);
  svg.setAttribute("width", round(width * scale));
  svg.setAttribute("height", round(height * scale));
  return el("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": label }, svg);
}

const fitting = (room, largest) => (room >= 1 ? Math.min(largest, room) : room >= SMALLEST ? room : 1);

export function heat(data, context) {
  const left = Math.min(150, 16 + Math.max(...data.rows.map((name) => widthOf(short(name, 18), 12))));
  const size = Math.max(data.columns.length > 16 ? 15 : 20, Math.min(46, (context.width - left - 12) / data.columns.length));
  const longest = Math.max(...data.columns.map((name) => widthOf(short(name, 14), 12)));
  const turned = longest > size - 4;
  const top = turned ? Math.min(110, 16 + longest * 0.75) : 26;
  const high = 22;
  const cells = data.rows.flatMap((row, r) => data.columns.map((column, c) => {
    const value = data.values[r][c] ?? 0;
    const told = data.counts ? `${data.counts[r][c]} times, ${share(value)}` : share(value);
    return draw("rect", { x: round(left + c * size + 1), y: top + r * high + 1, width: round(size - 2), height: high - 2, rx: 3,
      class: "f1", "fill-opacity": round(0.04 + 0.9 * Math.sqrt(Math.max(0, Math.min(1, value)))), "data-tip": `${row} × ${column}: ${told}` });
  }));
  const marks = (data.marks || []).map(([r, c]) => draw("rect", { x: round(left + c * size + 2), y: top + r * high + 2, width: round(size - 4), height: high - 4, rx: 3, class: "s2", "stroke-width": 2 }));
  const heads = data.columns.map((name, c) => {
    const x = left + (c + 0.5) * size;
    const label = text(turned ? x - 3 : x, top - 8, short(name, 14), "small", turned ? "start" : "middle");
    if (turned) label.setAttribute("transform", `rotate(-50 ${round(x)} ${top - 8})`);
    return label;
  });
  const names = data.rows.map((name, r) => text(left - 8, top + r * high + 15, short(name, 18), "small", "end"));
  const width = left + data.columns.length * size + (turned ? 60 : 12);
  return scroll(drawing(round(width), top + data.rows.length * high + 8, "Heat map", cells, marks, heads, names), "Heat map", context, 1);
}

function ticksOf(low, high, log, least = 0) {
  if (log) {
    const from = Math.floor(Math.log10(low)), to = Math.ceil(Math.log10(high));
    const step = Math.max(1, Math.ceil((to - from) / 6));
    const powers = [];
    const between = to - from <= 2 ? [1, 2, 5] : [1];
    for (let power = from; power <= to; power += step) powers.push(...between.map((by) => by * 10 ** power));
    return powers;
  }
  const rough = (high - low || 1) / 5, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((by) => by * power).find((size) => size >= rough && size >= least) || least;
  const found = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + step * 1e-9; tick += step) found.push(Number(tick.toPrecision(6)));
  return found;
}

// Names at the ends of curves, the last ones first; one that would hide another is left to its tip.
function labels(named, left) {
  const taken = [];
  return [...named].reverse().flatMap(([name, end, y, tone]) => {
    const shown = short(name, 24), width = widthOf(shown, 11), x = Math.max(end, left + width + 4);
    if (taken.some((other) => Math.abs(other.y - y) < 12 && x - width < other.x && other.x - other.width < x)) return [];
    taken.push({ x, y, width });
    return [text(x, y, shown, `small f${tone} halo`, "end")];
  });
}

export function lines(data, context) {
  const width = Math.max(300, Math.min(context.width, 760)), height = 280;
  const [left, right, top, bottom] = [68, 18, 22, 44];
  const every = data.series.flatMap((series) => series.y).concat((data.levels || []).map((level) => level.y))
    .filter((value) => value !== null && (!data.log || value > 0));
  if (!every.length || !data.x.length) return el("p", { class: "empty" }, "Nothing to draw.");
  let [low, high] = [Math.min(...every), Math.max(...every)];
  if (data.log) { low *= 0.8; high *= 1.25; }
  else { const room = (high - low || Math.abs(high) || 1) * 0.08; low -= room; high += room; }
  const [first, last] = [Math.min(...data.x), Math.max(...data.x)];
  const x = (value) => left + ((value - first) / (last - first || 1)) * (width - left - right);
  const by = data.log ? Math.log : (value) => value;
  const y = (value) => height - bottom - ((by(value) - by(low)) / (by(high) - by(low) || 1)) * (height - top - bottom);
  const parts = [];
  for (const tick of ticksOf(low, high, data.log).filter((tick) => tick >= low && tick <= high)) {
    parts.push(draw("line", { x1: left, x2: width - right, y1: round(y(tick)), y2: round(y(tick)), class: "grid" }));
    parts.push(text(left - 8, y(tick) + 4, figure(tick), "small muted", "end"));
  }
  const whole = data.x.every(Number.isInteger) ? 1 : 0;
  for (const tick of ticksOf(first, last, false, whole)) parts.push(text(x(tick), height - bottom + 18, figure(tick), "small muted", "middle"));
  parts.push(draw("line", { x1: left, x2: width - right, y1: height - bottom, y2: height - bottom, class: "axis" }));
  for (const level of data.levels || []) {
    parts.push(draw("line", { x1: left, x2: width - right, y1: round(y(level.y)), y2: round(y(level.y)), class: "s2 dash", "stroke-width": 1.5 }));
    parts.push(text(width - right - 2, y(level.y) - 6, `${level.name} ${figure(level.y)}`, "small f2 halo", "end"));
  }
  for (const mark of data.marks || []) {
    parts.push(draw("line", { x1: round(x(mark.x)), x2: round(x(mark.x)), y1: top, y2: height - bottom, class: "s3", "stroke-width": 1.5 }));
    const late = x(mark.x) > width - 110;
    parts.push(text(x(mark.x) + (late ? -6 : 6), top + 12, mark.name, "small f3 halo", late ? "end" : "start"));
  }
  const named = [];
  data.series.forEach((series, number) => {
    const good = data.x.map((at, k) => [at, series.y[k]]).filter(([, value]) => value !== null && value !== undefined && (!data.log || value > 0));
    const path = good.map(([at, value], k) => `${k ? "L" : "M"}${round(x(at))},${round(y(value))}`).join("");
    const tone = [1, 2, 3, 6][number % 4];
    parts.push(draw("path", { d: path, class: `s${tone}`, "stroke-width": 2 }));
    for (const [at, value] of good) {
      parts.push(draw("circle", { cx: round(x(at)), cy: round(y(value)), r: good.length > 60 ? 2 : 3.5, class: `f${tone}`, "data-tip": `${series.name}: ${figure(value)} at ${figure(at)}` }));
    }
    if (data.series.length > 1 && good.length) named.push([series.name, x(good.at(-1)[0]) - 4, y(good.at(-1)[1]) - 8, tone]);
  });
  parts.push(...labels(named, left));
  parts.push(text((left + width - right) / 2, height - 8, data.x_name || "", "small muted", "middle"));
  const name = text(11, (height - bottom + top) / 2, data.y_name || "", "small muted", "middle");
  name.setAttribute("transform", `rotate(-90 11 ${(height - bottom + top) / 2})`);
  return drawing(width, height, data.y_name || "Lines", parts, name);
}

function layoutTree(node, places, depth = 0) {
  if (!node.children || !node.children.length) {
    const width = Math.max(26, widthOf(node.label, 13) + 16);
    const placed = { node, depth, x: places.x + width / 2, below: [], leaf: true };
    places.x += width;
    places.deepest = Math.max(places.deepest, depth);
    return placed;
  }
  const from = places.x;
  const below = node.children.map((child) => layoutTree(child, places, depth + 1));
  const own = widthOf(node.label, 12) + 14;
  if (places.x - from < own) places.x = from + own;
  return { node, depth, x: (below[0].x + below.at(-1).x) / 2, below, leaf: false };
}

export function tree(data, context) {
  const choices = data.trees.filter((entry) => entry.tree);
  if (!choices.length) return el("p", { class: "empty" }, "There is no tree.");
  if (data.together) {
    const part = { ...context, width: context.width > 620 ? context.width / 2 - 10 : context.width };
    return el("div", { class: "pair" }, choices.map((entry) => el("figure", {}, el("figcaption", {}, entry.name), oneTree(entry.tree, part))));
  }
  const place = el("div");
  const show = (number) => place.replaceChildren(oneTree(choices[number].tree, context));
  const select = el("select", { "aria-label": "Which tree", onchange: (event) => show(Number(event.target.value)) },
    choices.map((entry, k) => el("option", { value: k }, entry.name)));
  show(0);
  return el("div", {}, choices.length > 1 ? el("div", { class: "tools" }, select) : null, place);
}

function oneTree(root, context) {
  const places = { x: 8, deepest: 0 };
  const placed = layoutTree(root, places);
  const step = 42, height = places.deepest * step + 34;
  const links = [], labels = [];
  const at = (entry) => (entry.leaf ? places.deepest : entry.depth) * step + 22;
  const walk = (entry) => {
    for (const child of entry.below) {
      links.push(draw("path", { d: `M${round(entry.x)},${at(entry) + 6} L${round(child.x)},${at(child) - 14}`, class: `axis${child.leaf ? " dash" : ""}`, "stroke-width": 1.3 }));
      walk(child);
    }
    const label = text(entry.x, at(entry), entry.node.label, entry.node.mark ? "f2" : entry.leaf ? "" : "f1", "middle");
    label.setAttribute("font-weight", entry.leaf ? "400" : "600");
    if (entry.node.title) label.setAttribute("data-tip", entry.node.title);
    labels.push(label);
    if (entry.node.mark) {
      const wide = widthOf(entry.node.label, 12) + 10;
      labels.push(draw("rect", { x: round(entry.x - wide / 2), y: at(entry) - 14, width: round(wide), height: 20, rx: 5, class: "s2 dash" }));
    }
  };
  walk(placed);
  return scroll(drawing(round(places.x + 8), height, "Tree", links, labels), "Tree", context);
}

export function arcs(data, context) {
  const tags = data.tags || data.words.map(() => "");
  // What stands on the arc between a word and the one before it needs room between the two.
  const between = (k) => (data.labels || []).filter((_, m) => (m === k && data.heads[m] === k) || (m === k - 1 && data.heads[m] === k + 1))
    .reduce((most, label) => Math.max(most, widthOf(label, 11) + 14), 0);
  let x = 14;
  const middles = [];
  data.words.forEach((word, k) => {
    const size = Math.max(widthOf(word, 14), widthOf(tags[k], 11), 16);
    middles.push(Math.max(x + size / 2, k ? middles[k - 1] + between(k) : 0));
    x = middles[k] + size / 2 + 18;
  });
  const spans = (heads) => heads.map((head, k) => [Math.min(head, k + 1), Math.max(head, k + 1)]);
  const levels = (heads) => {
    const found = heads.map(() => 0), all = spans(heads);
    heads.map((_, k) => k).sort((a, b) => (heads[a] === 0) - (heads[b] === 0) || all[a][1] - all[a][0] - (all[b][1] - all[b][0])).forEach((k) => {
      let inner = 0;
      all.forEach(([low, high], m) => { if (m !== k && found[m] && all[k][0] <= low && high <= all[k][1]) inner = Math.max(inner, found[m]); });
      found[k] = inner + 1;
    });
    return found;
  };
  const step = 26, above = levels(data.heads);
  const top = (head, level) => (head === 0 ? step * (level + 0.4) : 0.75 * step * level + (data.labels ? 14 : 0)); // of an arc
  const ground = Math.max(...data.heads.map((head, k) => top(head, above[k])), step) + 10;
  const wrong = data.gold ? data.gold.map((head, k) => head !== data.heads[k]) : [];
  const below = data.gold && wrong.some(Boolean) ? levels(data.gold) : [];
  const floor = ground + 50;
  const height = below.length ? floor + step * (Math.max(...below.filter((_, k) => wrong[k])) + 0.4) + 12 : ground + (data.tags ? 44 : 26);
  const names = []; // above all arcs: none strikes through the label of another
  const arc = (head, k, level, base, up, tone, told, label, faint) => {
    const end = middles[k], lift = base + up * step * level;
    if (head === 0) {
      const far = base + up * step * (level + 0.4);
      return draw("g", { "data-tip": told }, draw("path", { d: `M${round(end)},${round(far)} L${round(end)},${base}`, class: `s${tone}`, "stroke-width": 1.8, "stroke-opacity": faint }),
        draw("path", { d: `M${round(end - 3.5)},${base + up * 7} l3.5,${-up * 7} l3.5,${up * 7} z`, class: `f${tone}` }), text(end + 5, far + 5, label || "root", "small muted"));
    }
    const start = middles[head - 1] + (k + 1 > head ? 5 : -5);
    if (label) {
      const name = text((start + end) / 2, base + up * 0.75 * step * level + (up < 0 ? -4 : 12), label, "small muted halo", "middle");
      name.setAttribute("data-tip", told);
      names.push(name);
    }
    return draw("g", { "data-tip": told },
      draw("path", { d: `M${round(start)},${base} C${round(start)},${round(lift)} ${round(end)},${round(lift)} ${round(end)},${base}`, class: `s${tone}`, "stroke-width": 1.8, "stroke-opacity": faint }),
      draw("path", { d: `M${round(end - 3.5)},${base + up * 7} l3.5,${-up * 7} l3.5,${up * 7} z`, class: `f${tone}` }));
  };
  const parts = data.heads.map((head, k) => {
    const sure = data.posteriors ? data.posteriors[k] : null;
    const told = `${data.words[k]} ← ${head ? data.words[head - 1] : "root"}${data.labels ? ` (${data.labels[k]})` : ""}${sure === null ? "" : `: ${share(sure)}`}`;
    return arc(head, k, above[k], ground, -1, wrong[k] ? 2 : 1, told, data.labels ? data.labels[k] : "", sure === null ? 1 : round(0.25 + 0.75 * sure));
  });
  data.words.forEach((word, k) => {
    parts.push(text(middles[k], ground + 18, word, "", "middle"));
    parts.push(text(middles[k], ground + 36, tags[k], "small muted", "middle"));
    if (wrong[k] && below.length) parts.push(arc(data.gold[k], k, below[k], floor, 1, 3, `right: ${data.words[k]} ← ${data.gold[k] ? data.words[data.gold[k] - 1] : "root"}`, "", 1));
  });
  return scroll(drawing(round(x), round(height), "Arcs", parts, names), "Arcs", context);
}

export function chart(data, context) {
  const n = data.words.length;
  const size = Math.max(34, Math.min(80, (context.width - 20) / Math.max(n, 1)));
  const high = Math.min(34, size * 0.62);
  const tallest = Math.max(...data.cells.map((cell) => cell.end - cell.begin), 1);
  const ground = tallest * high + 10;
  const cells = data.cells.map((cell) => {
    const width = cell.end - cell.begin, x = 10 + ((cell.begin + cell.end) / 2 - 0.5) * size, y = ground - width * high;
    const strong = Math.max(0, Math.min(1, cell.value));
    return draw("g", { "data-tip": `${data.words.slice(cell.begin, cell.end).join(" ")}: ${cell.title || `${cell.label} ${share(cell.value)}`}` },
      draw("rect", { x: round(x + 1), y: round(y + 1), width: round(size - 2), height: round(high - 2), rx: 5, class: cell.value < 0 ? "f2" : "f1", "fill-opacity": round(0.06 + 0.6 * strong) }),
      cell.best ? draw("rect", { x: round(x + 2), y: round(y + 2), width: round(size - 4), height: round(high - 4), rx: 4, class: "inkline", "stroke-width": 1.5 }) : null,
      strong > 0.15 ? text(x + size / 2, y + high / 2 + 4, short(cell.label, 7), "small", "middle") : null);
  });
  const place = (begin, wide) => `M${round(12 + (begin + wide / 2 - 0.5) * size)},${round(ground - wide * high + 2)}h${round(size - 4)}v${round(high - 4)}h${round(4 - size)}z`;
  const empty = [];
  for (let wide = 1; wide <= tallest; wide += 1) for (let begin = 0; begin + wide <= n; begin += 1) empty.push(place(begin, wide));
  const words = data.words.map((word, k) => {
    const label = text(10 + (k + 0.5) * size, ground + 18, short(word, Math.max(4, Math.floor(size / 6.5))), "", "middle");
    label.setAttribute("data-tip", word);
    return label;
  });
  return scroll(drawing(round(n * size + 20), ground + 30, "Chart", draw("path", { d: empty.join(""), class: "grid" }), cells, words), "Chart", context, 1);
}

export function lattice(data, context) {
  const step = Math.max(44, ...data.inputs.map((name) => widthOf(name, 14) + 20)), down = 36;
  const [left, top] = [24 + Math.max(...data.outputs.map((name) => widthOf(name, 14)), 10), 34];
  const x = (i) => left + i * step, y = (j) => top + j * down;
  const [wide, tall] = [data.inputs.length, data.outputs.length];
  const grid = [];
  for (let i = 0; i <= wide; i += 1) grid.push(draw("line", { x1: x(i), x2: x(i), y1: y(0), y2: y(tall), class: "grid" }));
  for (let j = 0; j <= tall; j += 1) grid.push(draw("line", { x1: x(0), x2: x(wide), y1: y(j), y2: y(j), class: "grid" }));
  const ways = data.edges.map((edge) => draw("line", { x1: x(edge.from[0]), y1: y(edge.from[1]), x2: x(edge.to[0]), y2: y(edge.to[1]),
    class: edge.value < 0 ? "s2 dash" : "s1", "stroke-width": round(1 + 6 * Math.min(1, Math.abs(edge.value))), "stroke-opacity": round(0.25 + 0.7 * Math.min(1, Math.abs(edge.value))),
    "stroke-linecap": "round", "data-tip": `${edge.label}: ${share(edge.value)}` }));
  const names = [...data.inputs.map((name, i) => text(x(i) + step / 2, top - 12, name, "mono", "middle")),
    ...data.outputs.map((name, j) => text(left - 10, y(j) + down / 2 + 4, name, "mono", "end"))];
  return scroll(drawing(round(x(wide) + 16), round(y(tall) + 16), "Lattice", grid, ways, names), "Lattice", context);
}
