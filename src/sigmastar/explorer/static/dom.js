// Elements by function calls: text is always text, never markup.
const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

export const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
export const draw = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

export function drawing(width, height, label, ...children) {
  return draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": label }, ...children);
}

export const text = (x, y, words, kind = "", anchor = "start") =>
  draw("text", { x: round(x), y: round(y), class: kind, "text-anchor": anchor }, String(words));

export const round = (value) => Math.round(value * 100) / 100;

export function figure(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value)) return value.toLocaleString("en");
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-3 || size >= 1e5) ? value.toExponential(2) : String(Number(value.toPrecision(4)));
}

export const share = (value) => (value >= 0.0995 ? value.toFixed(2) : value >= 0.00095 ? value.toFixed(3) : value <= 0 ? figure(value) : value.toExponential(0));

export const short = (words, most) => (words.length > most ? words.slice(0, most - 1) + "…" : words);

let measure = null;
export function widthOf(words, size = 12) {
  measure = measure || document.createElement("canvas").getContext("2d");
  measure.font = `${size}px system-ui, sans-serif`;
  return measure.measureText(words).width;
}

// One tip for all that has a data-tip, by pointer and by focus.
export function startTips(tip) {
  const show = (target, x, y) => {
    tip.textContent = target.getAttribute("data-tip");
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 8))}px`;
    tip.style.top = `${y + 18 + box.height > innerHeight ? y - box.height - 10 : y + 18}px`;
  };
  const found = (event) => (event.target.closest ? event.target.closest("[data-tip]") : null);
  document.addEventListener("pointermove", (event) => {
    const target = found(event);
    if (target) show(target, event.clientX, event.clientY);
    else tip.hidden = true;
  });
  document.addEventListener("focusin", (event) => {
    const target = found(event);
    if (!target || !target.matches(":focus-visible")) return;
    const box = target.getBoundingClientRect();
    show(target, box.left + box.width / 2, box.bottom - 10);
  });
  document.addEventListener("focusout", () => { tip.hidden = true; });
}
