// Views that are lists and tables.
import { draw, drawing, el, figure, share, text } from "./dom.js";

// Counts are counts, and all else is a share.
const isCount = (data) => data.bars.some((bar) => bar.value > 1) && data.bars.every((bar) => Number.isInteger(bar.value));
const written = (data) => (isCount(data) ? figure : share);

export function bars(data, context) {
  if (!data.bars.length) return el("p", { class: "empty" }, "Nothing.");
  const top = Math.max(data.top === 1 ? Math.max(...data.bars.map((bar) => bar.value), 0.001) : data.top, 1e-9);
  return el("ol", { class: "bars" }, data.bars.map((bar) => {
    const inner = el("i", { class: bar.value < 0 ? "below" : "" });
    inner.style.width = `${Math.min(100, (100 * Math.abs(bar.value)) / top)}%`;
    const parts = [
      el("span", { class: "name" }, bar.name),
      el("span", { class: "track" }, inner),
      el("span", { class: "value" }, written(data)(bar.value)),
    ];
    if (!data.click || bar.fixed) return el("li", {}, el("div", { class: "bar", "data-tip": bar.name }, parts));
    const pick = () => context.pick(data.click, bar.name, data.begun);
    return el("li", {}, el("button", { type: "button", class: "bar", "data-tip": `add ${bar.name}`, onclick: pick }, parts));
  }));
}

export function barsDrawing(data) {
  const height = data.bars.length * 20 + 10;
  const top = Math.max(...data.bars.map((bar) => Math.abs(bar.value)), 1e-9);
  return drawing(480, height, "Bars", data.bars.map((bar, k) => draw("g", {},
    text(8, k * 20 + 20, bar.name, "mono"),
    draw("rect", { x: 150, y: k * 20 + 9, width: Math.max(1, (260 * Math.abs(bar.value)) / top), height: 13, rx: 3, class: bar.value < 0 ? "f2" : "f1" }),
    text(472, k * 20 + 20, written(data)(bar.value), "muted", "end"))));
}

export function strip(data) {
  const most = Math.max(...data.tokens.map((token) => token.value ?? 0), data.least ?? 1e-9); // of what is full
  return el("div", { class: "strip" }, data.tokens.map((token) => {
    const part = el("span", { "data-tip": token.title, class: token.wrong ? "wrong" : "" }, token.text,
      el("small", {}, token.below ?? (token.value === null ? "∞" : figure(Math.round(token.value * 10) / 10))));
    const size = token.value === null ? 100 : Math.round((100 * token.value) / most);
    part.style.borderBottomColor = `color-mix(in srgb, var(--series-2) ${size}%, var(--grid))`;
    return part;
  }));
}

export function table(data) {
  const body = el("tbody");
  let order = { column: -1, down: true };
  const fillBody = () => {
    const rows = [...data.rows];
    if (order.column >= 0) {
      rows.sort((a, b) => {
        const [left, right] = [a[order.column], b[order.column]];
        const sign = typeof left === "number" && typeof right === "number" ? left - right : String(left).localeCompare(String(right));
        return order.down ? -sign : sign;
      });
    }
    body.replaceChildren(...rows.map((row) => el("tr", {}, row.map((cell) =>
      el("td", { class: typeof cell === "number" ? "number" : "" }, figure(cell))))));
  };
  fillBody();
  const head = data.columns.map((name, column) => {
    const isNumber = data.rows.length > 0 && data.rows.every((row) => typeof row[column] === "number" || row[column] === null);
    const cell = el("th", { scope: "col", class: isNumber ? "number" : null });
    cell.append(el("button", { type: "button", onclick: () => {
      order = { column, down: order.column === column ? !order.down : true };
      for (const other of cell.parentNode.children) other.removeAttribute("aria-sort");
      cell.setAttribute("aria-sort", order.down ? "descending" : "ascending");
      fillBody();
    } }, name || "name"));
    return cell;
  });
  return el("div", { class: "table", tabindex: 0, role: "group", "aria-label": "Table" },
    el("table", {}, el("thead", {}, el("tr", {}, head)), body));
}
