// Points by pointer and by keyboard: add, move, paint, remove. Every change goes through `app.edit`.

import { rounded } from "./sets.js";
import { MOST_POINTS } from "./state.js";

const NEAR = 14; // pixels
const BRUSH = 0.35; // in the plane's own unit

const at = ({ x, y }, c) => ({ x: rounded(x), y: rounded(y), c });

// The index of the point nearest to a place on the screen, if one is near.
export function nearest(plane, points, px, py, near = NEAR) {
  let [best, distance] = [null, near];
  points.forEach((point, i) => {
    const [x, y] = plane.toScreen(point);
    const away = Math.hypot(x - px, y - py);
    if (away < distance) [best, distance] = [i, away];
  });
  return best;
}

export function listenToPointer(plane, app) {
  const { canvas } = plane;
  let held = null; // the index of the point that is moved, "paint" or "erase"
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const erase = (px, py) => {
    const i = nearest(plane, app.points, px, py);
    if (i !== null) app.edit(app.points.filter((_, r) => r !== i), "erase", "removed");
  };
  const paint = (px, py) => {
    const centre = plane.toWorld(px, py);
    const [angle, radius] = [2 * Math.PI * Math.random(), BRUSH * Math.sqrt(Math.random())];
    add({ x: centre.x + radius * Math.cos(angle), y: centre.y + radius * Math.sin(angle) }, "paint");
  };
  const add = (where, name) => {
    if (app.points.length >= MOST_POINTS) app.say(`There are ${MOST_POINTS} points, the most that this page takes.`);
    else app.edit([...app.points, at(where, app.klass)], name, "added");
  };
  canvas.addEventListener("pointerdown", (event) => {
    const [px, py] = place(event);
    const removing = app.tool === "erase" || event.shiftKey || event.button === 2;
    const i = nearest(plane, app.points, px, py, event.pointerType === "touch" ? 24 : NEAR);
    canvas.setPointerCapture(event.pointerId);
    app.closeChange();
    if (removing) {
      held = "erase";
      erase(px, py);
    } else if (app.tool === "paint") {
      held = "paint";
      paint(px, py);
    } else if (i !== null) held = i;
    else {
      add(plane.toWorld(px, py), "add");
      held = app.points.length - 1;
    }
    event.preventDefault();
    canvas.focus({ preventScroll: true, focusVisible: false });
    app.hideCursor();
  });
  canvas.addEventListener("pointermove", (event) => {
    if (held === null) return;
    const [px, py] = place(event);
    if (held === "erase") erase(px, py);
    else if (held === "paint") paint(px, py);
    else if (app.points[held]) {
      const moved = at(plane.toWorld(px, py), app.points[held].c);
      app.edit(app.points.map((point, i) => (i === held ? moved : point)), "move", null);
    }
  });
  const release = () => {
    if (held !== null) app.closeChange();
    held = null;
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
}

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

// What a key does while the plane has the focus; answers whether it did something.
export function planeKey(event, app) {
  const { points, selected } = app;
  const arrow = ARROWS[event.key];
  if (arrow && event.shiftKey && points[selected]) {
    const point = points[selected];
    const moved = at({ x: point.x + 0.1 * arrow[0], y: point.y + 0.1 * arrow[1] }, point.c);
    app.edit(points.map((each, i) => (i === selected ? moved : each)), "move", `moved to ${moved.x}, ${moved.y}`);
    app.moveCursor(moved, selected);
  } else if (arrow) {
    const { x, y } = app.cursor || { x: 0, y: 0 };
    const cursor = { x: rounded(Math.min(Math.max(x + 0.1 * arrow[0], -4), 4)), y: rounded(Math.min(Math.max(y + 0.1 * arrow[1], -2.6), 2.6)) };
    const near = points.findIndex((point) => Math.hypot(point.x - cursor.x, point.y - cursor.y) < 0.07);
    app.moveCursor(cursor, near < 0 ? null : near);
  } else if (event.key === "Enter") {
    app.closeChange();
    if (points.length < MOST_POINTS) app.edit([...points, at(app.cursor || { x: 0, y: 0 }, app.klass)], "add", "added");
    app.moveCursor(app.cursor || { x: 0, y: 0 }, app.points.length - 1);
  } else if (event.key === "Delete" || event.key === "Backspace") {
    if (!points[selected]) return app.say("No point is chosen: [ and ] choose one.") || true;
    app.closeChange();
    app.edit(points.filter((_, i) => i !== selected), "erase", "removed");
    app.moveCursor(app.cursor, null);
  } else if ((event.key === "[" || event.key === "]") && points.length) {
    const step = event.key === "]" ? 1 : -1;
    const next = selected === null ? (step > 0 ? 0 : points.length - 1) : (selected + step + points.length) % points.length;
    app.moveCursor(points[next], next);
  } else return false;
  return true;
}
