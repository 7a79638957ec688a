// What is seen, as a file: drawings with their colours written into them, tables and numbers as they came.
import { draw, drawing, text } from "./dom.js";

const STYLES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "fill-opacity", "stroke-opacity", "opacity",
  "font-family", "font-size", "font-weight", "text-anchor", "paint-order", "stroke-linejoin"];

export function standalone(svg) {
  const copy = svg.cloneNode(true);
  const originals = [svg, ...svg.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((element, number) => {
    const computed = getComputedStyle(originals[number]);
    for (const name of STYLES) {
      const value = computed.getPropertyValue(name);
      if (value) element.setAttribute(name, value);
    }
    for (const name of ["class", "tabindex", "data-tip", "role"]) element.removeAttribute(name);
  });
  const box = svg.viewBox.baseVal;
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", box.width);
  copy.setAttribute("height", box.height);
  const back = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [name, value] of Object.entries({ x: box.x, y: box.y, width: box.width, height: box.height })) back.setAttribute(name, value);
  back.setAttribute("fill", getComputedStyle(document.documentElement).getPropertyValue("--paper").trim());
  copy.prepend(back);
  return new XMLSerializer().serializeToString(copy);
}

// Drawings that stand together, one below the other, each under its name.
export function stacked(figures) {
  let wide = 0, y = 0;
  const parts = figures.flatMap((figure) => {
    const svg = figure.querySelector("svg[viewBox]"), { width, height } = svg.viewBox.baseVal;
    const part = [text(8, y + 18, figure.querySelector("figcaption").textContent, "muted"), draw("g", { transform: `translate(0 ${y + 26})` }, ...svg.cloneNode(true).childNodes)];
    y += height + 40;
    wide = Math.max(wide, width);
    return part;
  });
  return drawing(wide, y, "Drawings", parts);
}

export function saveAs(content, type, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

export async function toPng(svg, scale = 2) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(standalone(svg))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = svg.viewBox.baseVal.width * scale;
  canvas.height = svg.viewBox.baseVal.height * scale;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

export function toCsv(columns, rows) {
  const cell = (value) => (/[",\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value ?? ""));
  return [columns, ...rows].map((row) => row.map(cell).join(",")).join("\n") + "\n";
}
