// Everything that a button or a key does: one table, read by buttons, the keyboard, and the list of keys.

import { planeKey } from "./editing.js";
import { className } from "./palette.js";
import { SETS } from "./sets.js";

const SET_KEYS = { moons: "M", circles: "C", xor: "X", pair: "T", blobs: "B", empty: "E", data: "D" };

function openSet(app, set, given) {
  const usual = set === "data" ? { n: Math.min(given.n, given.points.length) } : { noise: SETS[set].noise };
  app.closeChange();
  app.change({ set, points: set === "empty" ? [] : null, ...usual }, null);
  app.say(`${set === "data" ? given.name : SETS[set].title}: ${app.points.length} points.`);
}

// id: {key, title, run}; `page` are the few things that only the page itself can do.
export function makeActions(app, page) {
  const { given } = app;
  const actions = {
    play: { key: " ", title: "Play or pause", run: () => (app.playing ? app.pause() : app.play()) },
    step: { key: ".", title: "One step", run: () => app.step(1) },
    back: { key: ",", title: "One step back", run: () => app.step(-1) },
    epoch: { key: "e", title: "To the end of the epoch", run: () => app.epoch() },
    start: { key: "Home", title: "To the start", run: () => app.step(-app.t) },
    end: { key: "End", title: "To the end", run: () => app.step(app.total) },
    faster: { key: "+", title: "Faster", run: () => page.setSpeed(1) },
    slower: { key: "-", title: "Slower", run: () => page.setSpeed(-1) },
    undo: { key: "u", title: "Undo (also Ctrl+Z)", run: () => app.undo("undo") },
    redo: { key: "U", title: "Redo (also Ctrl+Shift+Z)", run: () => app.undo("redo") },
    add: { key: "a", title: "Add and move points", run: () => page.setTool("add") },
    paint: { key: "b", title: "Brush: paint points", run: () => page.setTool("paint") },
    erase: { key: "x", title: "Remove points (also Shift+click)", run: () => page.setTool("erase") },
    sample: { key: "n", title: "New points of the same kind", run: () => page.newSample() },
    draws: { key: "r", title: "Other random draws", run: () => page.newDraws() },
    compare: { key: "c", title: "Two learners side by side, or one", run: () => page.compare() },
    learner: { key: "t", title: "Change over to the other learner", run: () => page.setLearner(app.learner === "a" ? "b" : "a") },
    optimum: { key: "o", title: "Show the exact optimum, dashed", run: () => page.toggleOptimum() },
    predictor: { key: "v", title: "Formula and bars of the next class", run: () => page.nextPredictor() },
    next: { key: "l", title: "Next lesson", run: () => app.openLesson((app.lesson ?? -1) + 1) },
    previous: { key: "L", title: "Lesson before", run: () => app.openLesson((app.lesson ?? 0) - 1) },
    share: { key: "s", title: "Copy the address of this state", run: () => page.share() },
    theme: { key: "d", title: "Dark or light", run: () => page.toggleTheme() },
    plane: { key: "g", title: "Go to the plane", run: () => page.goToPlane() },
    keys: { key: "?", title: "All keys", run: () => page.showKeys() },
  };
  for (const set of Object.keys(SET_KEYS)) {
    if (set === "data" && !given) continue;
    const title = set === "data" ? `The points of ${given.name}` : `Points: ${SETS[set].title.toLowerCase()}`;
    actions[`set-${set}`] = { key: SET_KEYS[set], title, run: () => openSet(app, set, given) };
  }
  for (let c = 0; c < page.classes; c++) {
    actions[`class-${c}`] = { key: String((c + 1) % 10), title: `New points are ${given && given.classes[c] ? `${given.classes[c]}, ` : ""}${className(c)}`, run: () => page.setClass(c) };
  }
  return actions;
}

export const keyName = (key) => ({ " ": "Space", ",": "comma", ".": "period" })[key] || (/^[A-Z]$/.test(key) ? `Shift+${key}` : key);

// Keys that act on the plane while it has the focus, for the list of keys.
export const PLANE_KEYS = [
  ["arrows", "Move the cursor"],
  ["Enter", "Add a point at the cursor"],
  ["[ and ]", "Choose the point before, or the next"],
  ["Shift+arrows", "Move the chosen point"],
  ["Delete", "Remove the chosen point"],
];

export function listenToKeys(app, actions) {
  const byKey = new Map(Object.values(actions).map((action) => [action.key, action]));
  document.addEventListener("keydown", (event) => {
    const { target, key } = event;
    if (document.querySelector("dialog[open]") || event.altKey) return;
    if (event.ctrlKey || event.metaKey) {
      if (key.toLowerCase() !== "z") return;
      app.undo(event.shiftKey ? "redo" : "undo");
      event.preventDefault();
      return;
    }
    if (target.matches("canvas.plane") && planeKey(event, app)) {
      event.preventDefault();
      return;
    }
    const typing = target.matches("input:not([type=range]), select, textarea");
    const own = (key === " " && target.matches("button, summary, a")) || (["Home", "End"].includes(key) && target.matches("input"));
    if (typing || own || !byKey.has(key)) return;
    byKey.get(key).run();
    event.preventDefault();
  });
}
