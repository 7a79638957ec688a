// Views that can be moved: graphs of states and maps of words; drag, wheel, two fingers, and the keyboard.
import { draw, drawing, el, round, share, short, text, widthOf } from "./dom.js";

function movable(svg, layer, onchange = () => {}) {
  let view = { x: 0, y: 0, zoom: 1 }, pointers = new Map();
  const size = svg.viewBox.baseVal;
  const apply = () => { layer.setAttribute("transform", `translate(${round(view.x)} ${round(view.y)}) scale(${round(view.zoom)})`); onchange(view); };
  const toLocal = (event) => {
    const box = svg.getBoundingClientRect();
    return { x: ((event.clientX - box.left) / box.width) * size.width, y: ((event.clientY - box.top) / box.height) * size.height };
  };
  const zoomAt = (point, by) => {
    const zoom = Math.max(0.3, Math.min(40, view.zoom * by)), real = zoom / view.zoom;
    view = { zoom, x: point.x - (point.x - view.x) * real, y: point.y - (point.y - view.y) * real };
    apply();
  };
  const middle = () => ({ x: size.width / 2, y: size.height / 2 });
  svg.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey && document.activeElement !== svg) return; // the page scrolls
    event.preventDefault();
    zoomAt(toLocal(event), Math.exp(-event.deltaY / 400));
  }, { passive: false });
  svg.addEventListener("pointerdown", (event) => {
    if (event.target.closest(".node")) return;
    svg.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, toLocal(event));
    svg.classList.add("moving");
  });
  svg.addEventListener("pointermove", (event) => {
    if (!pointers.has(event.pointerId)) return;
    const before = pointers.get(event.pointerId), now = toLocal(event);
    if (pointers.size === 2) {
      const [other] = [...pointers].filter(([id]) => id !== event.pointerId).map(([, point]) => point);
      const apart = (a, b) => Math.hypot(a.x - b.x, a.y - b.y) || 1;
      zoomAt(other, apart(now, other) / apart(before, other));
    } else {
      view = { ...view, x: view.x + now.x - before.x, y: view.y + now.y - before.y };
      apply();
    }
    pointers.set(event.pointerId, now);
  });
  for (const name of ["pointerup", "pointercancel"]) svg.addEventListener(name, (event) => { pointers.delete(event.pointerId); svg.classList.remove("moving"); });
  svg.addEventListener("keydown", (event) => {
    if (event.target !== svg) return;
    const moves = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] };
    if (moves[event.key]) { view = { ...view, x: view.x + moves[event.key][0], y: view.y + moves[event.key][1] }; apply(); }
    else if (event.key === "+" || event.key === "=") zoomAt(middle(), 1.3);
    else if (event.key === "-") zoomAt(middle(), 1 / 1.3);
    else if (event.key === "0") { view = { x: 0, y: 0, zoom: 1 }; apply(); }
    else return;
    event.preventDefault();
  });
  const button = (label, name, work) => el("button", { type: "button", "aria-label": name, onclick: work }, label);
  const tools = el("div", { class: "tools" }, button("+", "Zoom in", () => zoomAt(middle(), 1.4)), button("−", "Zoom out", () => zoomAt(middle(), 1 / 1.4)),
    button("Fit", "Fit", () => { view = { x: 0, y: 0, zoom: 1 }; apply(); }));
  return { tools, toLocal, view: () => view, zoomTo: (x, y, zoom) => { view = { zoom, x: size.width / 2 - x * zoom, y: size.height / 2 - y * zoom }; apply(); } };
}

const canvas = (width, height, label, ...children) => {
  const svg = drawing(width, height, label, ...children);
  svg.setAttribute("tabindex", "0");
  svg.setAttribute("class", "canvas move");
  return svg;
};

// Where along its arrow a label may stand, the best place first; one that would hide another or a state is left to its tip.
const ALONG = [0.42, 0.5, 0.34, 0.58, 0.66];
const AROUND = [0, 0.6, -0.6, 1.1, -1.1]; // a loop
function putLabel(label, places, taken, frame) {
  const wide = widthOf(label.textContent, 11) + 4, high = 13;
  const isFree = ({ x, y }) => taken.every((box) => Math.abs(box.x - x) > (box.wide + wide) / 2 || Math.abs(box.y - y) > (box.high + high) / 2);
  // What would be cut by the frame is moved into it; what was dragged out of it stays with its arrow.
  const within = (value, size, most) => { const moved = Math.max(size / 2, Math.min(most - size / 2, value)); return Math.abs(moved - value) <= size ? moved : value; };
  const inside = ({ x, y }) => ({ x: within(x, wide, frame.width), y: within(y, high, frame.height) });
  const found = label.textContent ? places.map(inside).find(isFree) : undefined;
  label.setAttribute("display", found ? "inline" : "none"); // an attribute, so that saved drawings have it too
  if (!found) return;
  taken.push({ ...found, wide, high });
  label.setAttribute("x", round(found.x)); label.setAttribute("y", round(found.y + 4));
}

export function graph(data, context) {
  const width = Math.max(300, Math.min(context.width, 1100)), radius = 17;
  const isNarrow = width < 480, [besideX, besideY] = isNarrow ? [46, 50] : [74, 62]; // room for loops and beginnings
  const height = Math.round(data.nodes.length > 6 ? Math.max(isNarrow ? 380 : 300, width * 0.5) : data.nodes.length > 2 ? 260 : 170);
  const spread = (axis, low, high) => {
    const values = data.nodes.map((node) => node[axis]), [least, most] = [Math.min(...values), Math.max(...values)];
    return (value) => (most > least ? low + ((value - least) / (most - least)) * (high - low) : (low + high) / 2);
  };
  const [toX, toY] = [spread("x", besideX, width - besideX), spread("y", besideY, height - besideY)];
  const nodes = data.nodes.map((node) => ({ ...node, px: toX(node.x), py: toY(node.y) }));
  const centre = { x: width / 2, y: height / 2 };
  const heaviest = Math.max(...data.edges.map((edge) => edge.weight), 1e-12);
  const layer = draw("g"), below = draw("g"), above = draw("g"), labels = draw("g");
  layer.append(below, above, labels);
  const lines = data.edges.map((edge, rank) => {
    const tone = edge.negative ? 2 : 1, weight = edge.weight / heaviest;
    const path = draw("path", { class: `s${tone}${edge.negative ? " dash" : ""}`, "stroke-width": round(1 + 4 * weight), "stroke-opacity": round(0.35 + 0.6 * weight), "data-tip": `${edge.title}` });
    const tip = draw("path", { class: `f${tone}`, "fill-opacity": round(0.45 + 0.55 * weight) });
    const label = text(0, 0, rank < width / 60 ? short(edge.label, 16) : "", "small halo", "middle");
    label.setAttribute("data-tip", edge.title);
    below.append(path, tip);
    labels.append(label);
    return { edge, path, tip, label };
  });
  const place = () => {
    const taken = nodes.map((node) => ({ x: node.px, y: node.py, wide: 2 * radius, high: 2 * radius }));
    for (const { edge, path, tip, label } of lines) {
      const from = nodes[edge.source], to = nodes[edge.target];
      let points;
      if (edge.source === edge.target) {
        let out = Math.atan2(from.py - centre.y, from.px - centre.x) || -Math.PI / 2;
        if (from.initial > 0.005 && Math.cos(out) < -0.6) out = Math.sin(out) > 0 ? 1.9 : -1.9; // beside the arrow of the beginning
        const at = (angle, far) => ({ x: from.px + far * Math.cos(out + angle), y: from.py + far * Math.sin(out + angle) });
        points = [at(-0.55, radius), at(-0.7, radius * 3.4), at(0.7, radius * 3.4), at(0.55, radius + 3)];
        putLabel(label, AROUND.map((angle) => at(angle, radius * (angle ? 2.6 : 3.3))), taken, { width, height });
      } else {
        const [dx, dy] = [to.px - from.px, to.py - from.py], length = Math.hypot(dx, dy) || 1, bend = Math.min(42, length * 0.2);
        const [ux, uy] = [dx / length, dy / length], side = { x: uy * bend, y: -ux * bend };
        points = [{ x: from.px + ux * radius, y: from.py + uy * radius }, { x: from.px + dx / 3 + side.x, y: from.py + dy / 3 + side.y },
          { x: from.px + (2 * dx) / 3 + side.x, y: from.py + (2 * dy) / 3 + side.y }, { x: to.px - ux * (radius + 3), y: to.py - uy * (radius + 3) }];
        // A curve rises to 3/4 of its bend: labels stand beyond it, the farther the more of their width meets it.
        const away = 10 + Math.abs(uy) * (widthOf(label.textContent, 11) / 2 - 2);
        const beside = (share, far) => ({ x: from.px + dx * share + side.x * 3 * share * (1 - share) + uy * far, y: from.py + dy * share + side.y * 3 * share * (1 - share) - ux * far });
        putLabel(label, [...ALONG.map((share) => beside(share, away)), ...ALONG.map((share) => beside(share, -away))], taken, { width, height });
      }
      const [a, b, c, d] = points.map((point) => `${round(point.x)},${round(point.y)}`);
      path.setAttribute("d", `M${a} C${b} ${c} ${d}`);
      const way = Math.atan2(points[3].y - points[2].y, points[3].x - points[2].x), wing = 6 + 4 * (edge.weight / heaviest);
      const corner = (angle) => `${round(points[3].x - wing * Math.cos(way + angle))},${round(points[3].y - wing * Math.sin(way + angle))}`;
      tip.setAttribute("d", `M${d} L${corner(0.45)} L${corner(-0.45)} z`);
    }
    for (const node of nodes) node.element.setAttribute("transform", `translate(${round(node.px)} ${round(node.py)})`);
  };
  for (const node of nodes) {
    const final = Math.max(0, Math.min(1, node.ring ?? 0)), around = 2 * Math.PI * (radius - 2);
    node.element = draw("g", { class: "node move", tabindex: 0, role: "img", "aria-label": node.title || node.label, "data-tip": node.title || node.label },
      draw("circle", { r: radius, class: "paper", stroke: "currentColor", "stroke-width": 1.2 }),
      draw("circle", { r: radius - 2, class: "s3", "stroke-width": 3.5, "stroke-dasharray": `${round(final * around)} ${round(around)}`, transform: "rotate(-90)" }),
      node.initial > 0.005 ? draw("path", { d: `M${-radius - 20},0 L${-radius - 4},0 m-6,-4 l6,4 l-6,4`, class: "inkline", "stroke-width": 1.8 }) : null,
      text(0, 4, node.label, "", "middle"));
    above.append(node.element);
  }
  const svg = canvas(width, height, "Graph", layer);
  const pan = movable(svg, layer);
  for (const node of nodes) {
    node.element.addEventListener("pointerdown", (event) => {
      event.stopPropagation();
      node.element.setPointerCapture(event.pointerId);
      const begin = pan.toLocal(event), from = { x: node.px, y: node.py };
      const drag = (moved) => {
        const now = pan.toLocal(moved);
        node.px = from.x + (now.x - begin.x) / pan.view().zoom;
        node.py = from.y + (now.y - begin.y) / pan.view().zoom;
        place();
      };
      node.element.addEventListener("pointermove", drag);
      node.element.addEventListener("pointerup", () => node.element.removeEventListener("pointermove", drag), { once: true });
    });
    node.element.addEventListener("keydown", (event) => {
      const moves = { ArrowLeft: [-12, 0], ArrowRight: [12, 0], ArrowUp: [0, -12], ArrowDown: [0, 12] }[event.key];
      if (!moves) return;
      event.preventDefault();
      node.px += moves[0]; node.py += moves[1];
      place();
    });
  }
  place();
  return el("div", {}, pan.tools, svg);
}

// The dots stay while what is typed changes: only the way through them is drawn again, at the zoom that was chosen.
export function map(data, context) {
  const width = Math.max(300, Math.min(context.width, 900)), height = Math.round(width * 0.62), edge = 34;
  let path = data.path || [];
  const all = [...data.points, ...path];
  if (!all.length) return el("p", { class: "empty" }, "Nothing to draw.");
  const range = (axis) => { const values = all.map((point) => point[axis]); return [Math.min(...values), Math.max(...values)]; };
  const [x0, x1] = range("x"), [y0, y1] = range("y");
  const x = (value) => edge + ((value - x0) / (x1 - x0 || 1)) * (width - 2 * edge);
  const y = (value) => height - edge - ((value - y0) / (y1 - y0 || 1)) * (height - 2 * edge);
  const groups = [...new Set(data.points.map((point) => point.group || ""))];
  const layer = draw("g"), below = draw("g"), names = draw("g"), way = draw("g"), steps = draw("g");
  layer.append(below, names, way, steps);
  const dots = data.points.map((point) => {
    const tone = groups.length > 1 ? (groups.indexOf(point.group || "") % 6) + 1 : 6;
    const dot = draw("circle", { cx: round(x(point.x)), cy: round(y(point.y)), r: 3.2, class: `f${tone}`, "fill-opacity": 0.55, "data-tip": point.title || point.name });
    below.append(dot);
    return { point, dot, label: null, px: x(point.x), py: y(point.y) };
  });
  const tone = groups.length > 1 ? "0" : "2"; // the way is in no group
  const drawWay = () => way.replaceChildren(
    draw("path", { d: path.map((point, k) => `${k ? "L" : "M"}${round(x(point.x))},${round(y(point.y))}`).join(""), class: `s${tone}`, "stroke-width": 2, "stroke-linejoin": "round", "vector-effect": "non-scaling-stroke" }),
    ...path.map((point, k) => draw("circle", { cx: round(x(point.x)), cy: round(y(point.y)), r: k === path.length - 1 ? 7 : 4.5, class: `f${tone}`, "data-tip": `${k}: ${point.name}` })));
  let sized = 1;
  const relabel = ({ zoom, x: left, y: top }) => {
    const taken = [];
    const free = (px, py, wide) => !taken.some((box) => Math.abs(box.py - py) < 13 && px < box.px + box.wide && box.px < px + wide);
    const put = (into, px, py, words, kind) => {
      const wide = words.length * 6.6 + 8, [sx, sy] = [px * zoom + left, py * zoom + top];
      const isLeft = sx + 8 + wide > width, from = isLeft ? sx - 8 - wide : sx + 8;
      if (sx < -40 || sx > width || sy < 0 || sy > height || !free(from, sy, wide)) return;
      taken.push({ px: from, py: sy, wide });
      const label = text(0, 0, words, kind, isLeft ? "end" : "start");
      label.setAttribute("transform", `translate(${round(px)} ${round(py)}) scale(${1 / zoom}) translate(${isLeft ? -8 : 8} 4)`);
      into.append(label);
    };
    names.replaceChildren(); steps.replaceChildren();
    [...path].reverse().forEach((point) => put(steps, x(point.x), y(point.y), short(point.name, 18), `small f${tone} halo`));
    const asked = dots.filter((each) => each.found), rest = dots.filter((each) => !each.found);
    asked.forEach((each) => put(names, each.px, each.py, short(each.point.name, 24), "halo"));
    if (data.named !== false && !path.length) rest.forEach((each) => { if (taken.length < 70) put(names, each.px, each.py, short(each.point.name, 18), "small muted halo"); });
    if (zoom === sized) return;
    sized = zoom;
    for (const each of dots) each.dot.setAttribute("r", round((each.found ? 7 : 3.2) / Math.sqrt(zoom)));
  };
  const svg = canvas(width, height, "Map", layer);
  const pan = movable(svg, layer, relabel);
  const search = el("input", { type: "search", placeholder: "search", "aria-label": "Search in the map", size: 12, oninput: () => {
    const wanted = search.value.trim().toLowerCase();
    for (const each of dots) each.found = wanted !== "" && each.point.name.toLowerCase().includes(wanted);
    sized = 0; // which dots are large has changed
    const first = dots.find((each) => each.found);
    if (first && dots.filter((each) => each.found).length === 1) pan.zoomTo(first.px, first.py, 3);
    else relabel(pan.view());
  } });
  const legend = groups.length > 1 ? groups.map((name, k) => el("span", {}, draw("svg", { width: 10, height: 10, viewBox: "0 0 10 10", "aria-hidden": "true" }, draw("circle", { cx: 5, cy: 5, r: 4, class: `f${(k % 6) + 1}` })), ` ${name}`)) : [];
  pan.tools.append(search, ...legend);
  drawWay();
  relabel(pan.view());
  const element = el("div", {}, pan.tools, svg);
  const points = JSON.stringify(data.points);
  const isWithin = (point) => point.x >= x0 && point.x <= x1 && point.y >= y0 && point.y <= y1;
  element.update = (next) => {
    if (!(next.path || []).every(isWithin) || JSON.stringify(next.points) !== points) return false;
    path = next.path || [];
    drawWay();
    relabel(pan.view());
    return true;
  };
  return element;
}
