// A model that is being learned: asked for again and again until it is there.
import { el, figure } from "./dom.js";

const PAUSE = 500, PATIENCE = 4; // milliseconds between two questions, and failures in a row until the end is told
const pause = (time) => new Promise((resolve) => { setTimeout(resolve, time); });

export async function follow(ask, watched) {
  for (let failures = 0; ;) {
    try {
      const found = await ask();
      await watched(found);
      if (found.state === "done") return;
      failures = 0;
    } catch (problem) {
      failures += 1;
      if (failures >= PATIENCE) throw new Error("The server has ended; the terminal says why.");
    }
    await pause(PAUSE);
  }
}

const duration = (seconds) => (seconds < 90 ? `${Math.round(seconds)} s` : seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${figure(seconds / 3600)} hours`);

export function learningFacts(found) {
  const fact = (name, value) => el("span", {}, `${name} `, el("b", {}, value));
  const bar = el("progress", { max: 1, "aria-label": "Share of the work that is done" });
  if (found.done !== null) bar.value = found.done;
  if (found.state === "done") return [el("h2", {}, found.name), fact("learned in", duration(found.seconds)), fact("file", found.file)];
  return [
    el("h2", {}, found.name),
    bar,
    fact("now", found.phase),
    found.done === null ? null : fact("done", `${Math.floor(100 * found.done)} %`),
    fact("for", duration(found.seconds)),
    found.seconds_left === null ? null : fact("about", `${duration(found.seconds_left)} left`),
  ].filter((each) => each !== null);
}
