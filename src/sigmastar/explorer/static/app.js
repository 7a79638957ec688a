// The page: which model, what is typed, which views; all of it stands in the address.
import { el, figure, startTips } from "./dom.js";
import { bars, barsDrawing, strip, table } from "./plain_views.js";
import { arcs, chart, heat, lattice, lines, tree } from "./drawings.js";
import { graph, map } from "./canvas.js";
import { follow, learningFacts } from "./learning.js";
import { saveAs, stacked, standalone, toCsv, toPng } from "./save.js";

const VIEWS = { bars, strip, table, heat, lines, tree, arcs, chart, lattice, graph, map };
const leaves = (node) => (node.children?.length ? node.children.reduce((sum, child) => sum + leaves(child), 0) : 1);
// How much stands side by side in a drawing, against what half of the page has room for.
const CROWDED = {
  arcs: (data) => data.words.length > 9, chart: (data) => data.words.length > 9, graph: (data) => data.nodes.length > 6,
  tree: (data) => data.trees.some((entry) => entry.tree && leaves(entry.tree) > (data.together ? 5 : 11)), strip: (data) => data.tokens.length > 30,
};
const byId = (id) => document.getElementById(id);
const [modelPicker, againstPicker, board, message, fieldsForm, tabs] = ["model", "against", "board", "message", "fields", "tabs"].map(byId);
const abouts = new Map(), opened = new Set();
let models = [], state = {}, about = null, asked = 0, learning = null, isAsking = false, isBehind = false;

const isNotYet = (answer) => answer.status === 202 || answer.status === 503;
const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));

// A model that is still being opened is asked for again, as long as somebody looks at it.
async function ask(path, body, isWanted = () => false) {
  const options = body === undefined ? {} : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  let answer = await fetch(`api/${path}`, options);
  while (isNotYet(answer) && isWanted()) {
    await pause(Number(answer.headers.get("retry-after")) || 1);
    if (isWanted()) answer = await fetch(`api/${path}`, options);
  }
  const found = await answer.json().catch(() => ({ error: "the server gave no answer that can be read" }));
  if (!answer.ok || isNotYet(answer)) throw new Error(found.error || found.message || answer.statusText);
  return found;
}

function say(words, bad = false) {
  message.className = bad ? "message bad" : "message";
  message.textContent = words;
}

function busy(words) {
  message.className = "message";
  message.replaceChildren(el("span", { class: "spin" }), words);
}

function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  state = { model: Number(given.get("m") || 0), against: given.has("c") ? Number(given.get("c")) : -1, tab: given.get("v") || (learning ? "learning" : "ask"), row: given.has("r") ? Number(given.get("r")) : -1, sort: given.get("sort") || "loss", filter: given.get("filter") || "", inputs: {} };
  for (const [name, value] of given) if (name.startsWith("i.")) state.inputs[name.slice(2)] = value;
  if (!models.length) return;
  if (!(state.model >= 0 && state.model < models.length)) state.model = 0;
  if (!(state.against >= 0 && state.against < models.length)) state.against = -1;
}

function writeAddress() {
  const given = new URLSearchParams({ m: state.model, v: state.tab });
  if (state.against >= 0) given.set("c", state.against);
  if (state.row >= 0) given.set("r", state.row);
  if (state.tab === "data") { given.set("sort", state.sort); if (state.filter) given.set("filter", state.filter); }
  for (const [name, value] of Object.entries(state.inputs)) given.set(`i.${name}`, value);
  history.replaceState(null, "", `#${given}`);
}

async function aboutOf(number) {
  const isWanted = () => number === state.model || number === state.against;
  if (!abouts.has(number)) abouts.set(number, ask(`models/${number}`, undefined, isWanted));
  try {
    const found = await abouts.get(number);
    opened.add(number);
    return found;
  } catch (problem) { abouts.delete(number); throw problem; }
}

const fileName = (title) => title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "") || "view";

function saveButtons(view, place) {
  const svgOf = () => {
    if (view.kind === "bars") return mounted(barsDrawing(view.data));
    const figures = [...place.querySelectorAll(".pair figure")];
    return figures.length ? mounted(stacked(figures)) : place.querySelector("svg[viewBox]");
  };
  const mounted = (svg) => { svg.classList.add("offstage"); place.append(svg); queueMicrotask(() => svg.remove()); return svg; };
  const button = (label, work) => el("button", { type: "button", class: "quiet", "aria-label": `Save ${view.title} as ${label}`, onclick: work }, label);
  const name = fileName(view.title), found = [];
  if (view.kind !== "table" && view.kind !== "strip") {
    found.push(button("SVG", () => saveAs(standalone(svgOf()), "image/svg+xml", `${name}.svg`)));
    found.push(button("PNG", async () => saveAs(await toPng(svgOf()), "image/png", `${name}.png`)));
  }
  if (view.kind === "table") found.push(button("CSV", () => saveAs(toCsv(view.data.columns, view.data.rows), "text/csv", `${name}.csv`)));
  found.push(button("JSON", () => saveAs(JSON.stringify(view, null, 1), "application/json", `${name}.json`)));
  return el("div", { class: "save" }, found);
}

// What can be clicked is said here: on pages that stand still the same views cannot be.
const noteOf = (view) => `${view.note}${view.data.click ? " Click one to go on with it." : ""}`.trim();

let cards = 0;
function card(given) {
  cards += 1;
  const view = { ...given };
  const place = el("div", { class: "view" });
  const element = el("article", { class: "card", "aria-labelledby": `card-${cards}`, "data-kind": view.kind },
    el("header", {}, el("h3", { id: `card-${cards}` }, view.title), saveButtons(view, place)), place,
    noteOf(view) ? el("p", { class: "note" }, noteOf(view)) : null);
  const spread = () => element.classList.toggle("wide", Boolean(CROWDED[view.kind]?.(view.data)));
  spread();
  element.refresh = (next) => {
    const drawn = JSON.stringify(next);
    if (drawn === (element.data ??= JSON.stringify(view))) return;
    Object.assign(view, next);
    element.data = drawn;
    spread();
    const note = element.querySelector(".note");
    if (note) note.textContent = noteOf(view);
    if (!place.firstChild?.update?.(view.data)) element.drawn = 0;
  };
  element.redraw = (width, scale) => {
    if (width <= 0 || Math.abs(width - (element.drawn || 0)) < 2) return;
    element.drawn = width;
    const renderer = VIEWS[view.kind];
    place.replaceChildren(renderer ? renderer(view.data, { width, scale, pick }) : el("p", {}, `no view of kind ${view.kind}`));
  };
  element.key = keyOf(view);
  return element;
}

const keyOf = (view) => `${view.kind} ${view.title} ${Boolean(view.note)}`;

// Cards of the same kind and title are kept: what did not change is not drawn again, and nothing jumps.
function show(columns) {
  const isPlain = columns.every(({ views }) => views.every((view) => !(view instanceof Node)));
  const wanted = isPlain ? JSON.stringify(columns.map(({ name, views }) => [name, views.map(keyOf)])) : "";
  const old = [...board.querySelectorAll(".card")];
  if (wanted && wanted === board.wanted) {
    columns.flatMap(({ views }) => views).forEach((view, k) => old[k].refresh(view));
    return redraw();
  }
  board.wanted = wanted;
  const known = (view) => {
    if (view instanceof Node) return view;
    const found = old.findIndex((each) => each.key === keyOf(view));
    if (found < 0) return card(view);
    const [element] = old.splice(found, 1);
    element.refresh(view);
    return element;
  };
  board.className = columns.length > 1 ? "board two" : "board";
  board.replaceChildren(...columns.map(({ name, views }) => el("div", { class: "column" },
    columns.length > 1 ? el("h2", {}, name) : null, el("div", { class: "cards" }, views.map(known)))));
  redraw();
}

// All widths are read before anything is drawn: reading one after a change would lay the whole page out again.
function redraw() {
  const known = [...board.querySelectorAll(".card")].filter((element) => element.redraw);
  const scale = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16; // walls have larger letters
  const widths = known.map((element) => element.clientWidth / scale - 36);
  known.forEach((element, k) => element.redraw(widths[k], scale));
}
new ResizeObserver(redraw).observe(board);

function pick(fieldName, name, begun = "") {
  const field = about.fields.find((each) => each.name === fieldName);
  const input = fieldsForm.elements[fieldName];
  if (!field || !input) return;
  if (field.append === null) input.value = name;
  else {
    let kept = begun && input.value.endsWith(begun) ? input.value.slice(0, -begun.length) : input.value;
    if (field.append && kept && !kept.endsWith(field.append)) kept += field.append;
    input.value = kept + name + field.append;
  }
  input.focus();
  typed();
}

function fillFields() {
  fieldsForm.hidden = state.tab === "model" || state.tab === "learning";
  fieldsForm.replaceChildren(...about.fields.map((field) => {
    const value = state.inputs[field.name] ?? field.example;
    state.inputs[field.name] = value;
    if (field.choices.length) {
      const select = el("select", { name: field.name, onchange: typed }, field.choices.map((choice) => el("option", { value: choice }, choice)));
      select.value = value || field.choices[0];
      return el("label", {}, field.label, select);
    }
    const input = el("input", { type: "text", name: field.name, spellcheck: "false", autocapitalize: "off", "aria-describedby": "message", oninput: typed });
    input.value = value;
    return el("label", { class: "wide" }, field.hint ? `${field.label} (${field.hint})` : field.label, input);
  }));
}

function typed() {
  for (const field of about.fields) state.inputs[field.name] = fieldsForm.elements[field.name].value;
  state.row = -1;
  if (state.tab !== "ask") { state.tab = "ask"; fillTabs(); }
  answerLatest();
}

// A key is asked about at once; those that come before its answer are asked about together.
async function answerLatest() {
  isBehind = isAsking;
  if (isAsking) return;
  isAsking = true;
  try { await answer(); } finally { isAsking = false; }
  if (isBehind) answerLatest();
  else writeAddress(); // not for every key: browsers allow few changes of the address per second
}

async function answer(gold = [[], []]) {
  const turn = (asked += 1), began = performance.now();
  const numbers = state.against >= 0 ? [state.model, state.against] : [state.model];
  try {
    const found = await Promise.all(numbers.map((number) => ask(`models/${number}/answer`, { inputs: state.inputs }, () => turn === asked)));
    if (turn !== asked || state.tab !== "ask") return;
    if (found[0].problem) return void say(found[0].problem, true);
    const without = (problem) => [el("article", { class: "card" }, el("p", { class: "empty" }, problem))];
    show(found.map(({ views, problem }, k) => ({ name: models[numbers[k]].name, views: problem ? without(problem) : [...gold[k], ...views] })));
    const took = Math.max(1, Math.round(performance.now() - began));
    say(took < 2000 ? `answered in ${took} ms` : `answered in ${Math.round(took / 1000)} s; a first answer prepares what later ones use`);
  } catch (problem) {
    if (turn === asked) say(problem.message, true);
  }
}

async function showModel() {
  const numbers = state.against >= 0 ? [state.model, state.against] : [state.model];
  const found = await Promise.all(numbers.map(aboutOf));
  show(found.map((each) => ({ name: each.name, views: each.views })));
  say("");
}

function dataTable(found) {
  const hasLoss = found.rows.some((row) => row.loss !== null || row.is_impossible), hasError = found.rows.some((row) => row.error !== null);
  const rows = found.rows.map((row) => el("tr", { class: "link", "aria-selected": String(row.number === state.row), onclick: () => openRow(row.number) },
    el("td", { class: "number" }, String(row.number + 1)),
    el("td", {}, el("button", { type: "button", class: "pick" }, row.text || "(empty)")),
    hasLoss ? el("td", { class: "number" }, row.is_impossible ? "∞" : figure(row.loss)) : null,
    hasError ? el("td", { class: "number" }, figure(row.error)) : null, el("td", { class: "number" }, figure(row.length))));
  const sorted = (name, label) => el("th", { scope: "col", class: "number", "aria-sort": state.sort === name ? "descending" : null },
    el("button", { type: "button", onclick: () => { state.sort = name; writeAddress(); showData(); } }, label));
  const filter = el("input", { type: "search", placeholder: "only items with this text", "aria-label": "Filter by text", size: 26 });
  filter.value = state.filter;
  filter.addEventListener("change", () => { state.filter = filter.value; writeAddress(); showData(); });
  return el("article", { class: "card wide", "aria-labelledby": "data-title" }, el("header", {}, el("h3", { id: "data-title" }, `Data: ${found.n_found} of ${found.n_rows} items`)),
    el("div", { class: "tools" }, filter),
    el("div", { class: "table", tabindex: 0, role: "group", "aria-label": "Items" }, el("table", {}, el("thead", {}, el("tr", {}, sorted("number", "no."), el("th", { scope: "col" }, "item"), hasLoss ? sorted("loss", found.loss_name) : null, hasError ? sorted("error", found.error_name) : null, sorted("length", "length"))), el("tbody", { class: "items" }, rows))));
}

function showLearning() {
  byId("facts").replaceChildren(...learningFacts(learning));
  show([{ name: learning.name, views: learning.views }]);
}

async function watched(found) {
  learning = found;
  document.title = `${found.state === "done" ? "done" : found.done === null ? "learning" : `${Math.floor(100 * found.done)} %`} · ${found.name} · Sigmastar`;
  if (models.length) return;
  if (found.state === "learning") return void showLearning();
  await loadModels();
  readAddress();
  await render();
}

async function showData() {
  busy("measuring");
  const query = new URLSearchParams({ sort: state.sort, filter: state.filter });
  const [found, all] = await Promise.all(["data?" + query, "summary"].map((path) => ask(`models/${state.model}/${path}`)));
  show([{ name: about.name, views: [dataTable(found), ...all.views] }]);
  say("Choose an item to see it; headings sort.");
}

// What is right, as each model's family draws it; a second model may have been judged on other items.
async function openRow(number) {
  const rows = [state.model, state.against].filter((model) => model >= 0).map((model) => ask(`models/${model}/data/${number}`));
  const [found, beside] = await Promise.all([rows[0], rows[1]?.catch(() => null)]);
  Object.assign(state, { tab: "ask", row: number, inputs: { ...state.inputs, ...found.inputs } });
  writeAddress();
  fillTabs();
  fillFields();
  await answer([found.gold, beside && beside.text === found.text ? beside.gold : []]);
  byId("main").focus({ preventScroll: true }); // else its heading would be below the bar
  scrollTo(0, 0);
}

function fillTabs() {
  const known = { ask: "Ask", model: "The model", ...(about.has_data ? { data: "Data" } : {}), ...(learning ? { learning: "How it learned" } : {}) };
  if (!known[state.tab]) state.tab = "ask";
  tabs.replaceChildren(...Object.entries(known).map(([name, label]) => el("button", { type: "button", "aria-current": name === state.tab ? "page" : null, onclick: () => { state.tab = name; writeAddress(); render(); } }, label)));
}

function fillFacts() {
  byId("facts").replaceChildren(el("h2", {}, about.name), ...Object.entries(about.facts).map(([name, value]) => el("span", {}, `${name} `, el("b", {}, figure(value)))));
  document.title = `${about.name} · Sigmastar`;
}

function fillAgainst() {
  const same = models.filter((each) => each.family === models[state.model].family && each.id !== state.model);
  byId("against-label").hidden = !same.length;
  againstPicker.replaceChildren(el("option", { value: -1 }, "none"), ...same.map((each) => el("option", { value: each.id }, each.name)));
  if (!same.some((each) => each.id === state.against)) state.against = -1;
  againstPicker.value = state.against;
}

async function render() {
  const number = state.model;
  modelPicker.value = number;
  fillAgainst();
  try {
    if (!opened.has(number)) { busy(`opening ${models[number].name}; the first time this takes a while`); board.wanted = ""; board.replaceChildren(); }
    about = await aboutOf(number);
    if (number !== state.model) return;
    fillFacts();
    fillTabs();
    fillFields();
    if (state.tab === "learning") { showLearning(); say(`Learned, and written to ${learning.file}. “Ask” shows what it answers.`); }
    else if (state.tab === "model") await showModel();
    else if (state.tab === "data") await showData();
    else if (state.row >= 0 && about.has_data) await openRow(state.row);
    else await answer();
    writeAddress();
  } catch (problem) {
    if (number === state.model) say(problem.message, true);
  }
}

function startTheme() {
  const button = byId("theme"), dark = matchMedia("(prefers-color-scheme: dark)");
  let chosen = localStorage.getItem("sigmastar-theme") || "auto";
  const apply = () => {
    document.documentElement.dataset.theme = chosen === "auto" ? (dark.matches ? "dark" : "light") : chosen;
    button.textContent = `Theme: ${chosen}`;
  };
  button.addEventListener("click", () => {
    chosen = { auto: "dark", dark: "light", light: "auto" }[chosen] || "auto";
    localStorage.setItem("sigmastar-theme", chosen);
    apply();
  });
  dark.addEventListener("change", apply);
  apply();
}

async function loadModels() {
  ({ models } = await ask("models"));
  const groups = new Map();
  for (const each of models) {
    if (!groups.has(each.family)) groups.set(each.family, el("optgroup", { label: each.family }));
    groups.get(each.family).append(el("option", { value: each.id }, each.name));
  }
  modelPicker.replaceChildren(...groups.values());
  byId("pickers").hidden = !models.length;
}

async function start() {
  startTheme();
  startTips(byId("tip"));
  fieldsForm.addEventListener("submit", (event) => event.preventDefault());
  modelPicker.addEventListener("change", () => { Object.assign(state, { model: Number(modelPicker.value), inputs: {}, row: -1, against: -1 }); render(); });
  againstPicker.addEventListener("change", () => { state.against = Number(againstPicker.value); writeAddress(); render(); });
  addEventListener("hashchange", () => { readAddress(); if (models.length) render(); });
  const { is_watched } = await ask("models");
  if (is_watched) {
    learning = await ask("learning");
    readAddress();
    say("Learning: the page follows, and shows the model when it is there.");
    fieldsForm.hidden = byId("pickers").hidden = true;
    return follow(() => ask("learning"), watched);
  }
  await loadModels();
  readAddress();
  await render();
}

start().catch((problem) => say(problem.message, true));
