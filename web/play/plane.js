// The plane: regions shaded by score, boundary, margins, the optimum dashed, points, and the example that was drawn.

import { contour, lead, makeGrid, scoreFields, spacing } from "./field.js";
import { channels, classColour, THEMES, trace } from "./palette.js";
import { fitted } from "./sizes.js";

const HALF_WINDOW = 2.7;
const BUDGET = { moving: 6e5, still: 1.2e7 };

export class Plane {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { alpha: false });
    this.shades = document.createElement("canvas");
    this.boundary = null;
    this.stamps = new Map();
  }

  // Take the size that the page gives.
  resize() {
    Object.assign(this, fitted(this.canvas));
    const scale = Math.min(this.width, this.height) / (2 * HALF_WINDOW);
    this.view = { scale, left: -this.width / 2 / scale, top: this.height / 2 / scale };
  }

  toScreen({ x, y }) {
    return [(x - this.view.left) * this.view.scale, (this.view.top - y) * this.view.scale];
  }

  toWorld(px, py) {
    return { x: this.view.left + px / this.view.scale, y: this.view.top - py / this.view.scale };
  }

  // `shown`: theme, points, run, c (the predictor), optimum (coefficients or null), moving, cursor, selected, stepped.
  draw(shown) {
    this.resize();
    if (!this.width || !this.height) return;
    const { context, ratio, width, height } = this;
    const colours = THEMES[shown.theme];
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (shown.run) this.drawPredictor(shown, colours);
    else {
      this.boundary = null;
      context.fillStyle = colours.plane;
      context.fillRect(0, 0, width, height);
    }
    this.drawPoints(shown, colours);
    if (shown.cursor) this.drawCursor(shown, colours);
  }

  drawPredictor(shown, colours) {
    const { problem, spec } = shown.run;
    const support = problem.points.filter((_, i) => shown.c.some((c) => c[i] !== 0)).length;
    const budget = BUDGET[shown.moving ? "moving" : "still"];
    const pixels = spacing(this.width, this.height, support, shown.c.length, spec.kernel, budget);
    const grid = makeGrid(this.view, this.width, this.height, pixels);
    const fields = scoreFields(problem, spec.kernel, shown.c, grid);
    this.shade(fields, grid, problem.classes, shown.theme, spec.model === "perceptron", shown.moving ? 4 : 2);
    const leads = fields.length === 1 ? fields : fields.map((_, j) => lead(fields, j));
    const boundary = leads.flatMap((field) => contour(field, grid, 0));
    if (shown.stepped && this.boundary) this.stroke(this.boundary, colours.soft, 1.5, [2, 4]);
    if (fields.length === 1 && spec.model !== "perceptron") {
      this.stroke([...contour(fields[0], grid, 1), ...contour(fields[0], grid, -1)], colours.ink, 1.6, [2, 3.5]);
    }
    this.stroke(boundary, colours.ink, 2.6, []);
    this.boundary = boundary;
    if (shown.optimum) {
      const best = scoreFields(problem, spec.kernel, shown.optimum, grid);
      const edges = best.length === 1 ? best : best.map((_, j) => lead(best, j));
      this.stroke(edges.flatMap((field) => contour(field, grid, 0)), colours.optimum, 3.4, [10, 8]);
    }
  }

  stroke(lines, colour, width, dashes) {
    const { context } = this;
    context.beginPath();
    for (const line of lines) {
      for (let at = 0; at < line.length; at += 2) context[at ? "lineTo" : "moveTo"](line[at], line[at + 1]);
    }
    Object.assign(context, { strokeStyle: colour, lineWidth: width, lineCap: "butt", lineJoin: "round" });
    context.setLineDash(dashes);
    context.stroke();
    context.setLineDash([]);
  }

  // Regions in the colours of their classes, the stronger the further the score is from a change; one dot for `size` pixels.
  shade(fields, grid, classes, theme, scaleFree, size) {
    const [width, height] = [Math.ceil(this.width / size), Math.ceil(this.height / size)];
    if (this.shades.width !== width || this.shades.height !== height) {
      [this.shades.width, this.shades.height] = [width, height];
      this.image = this.shades.getContext("2d").createImageData(width, height);
      this.dots = new Uint32Array(this.image.data.buffer);
    }
    const unit = 1.6 * (scaleFree ? Math.max(...fields.map(spread)) || 1 : 1);
    const inks = classes.map((c) => strengths(channels(classColour(c, theme)), channels(THEMES[theme].plane)));
    const { dots } = this;
    const last = grid.columns - 2;
    const line = fields.map(() => new Float64Array(grid.columns));
    for (let py = 0, to = 0; py < height; py++) {
      mixRows(fields, grid, (size * (py + 0.5)) / grid.pixels, line);
      for (let px = 0; px < width; px++, to++) {
        const column = (size * (px + 0.5)) / grid.pixels;
        const left = Math.min(column | 0, last);
        const right = Math.min(column - left, 1);
        let [best, value, second] = [0, -Infinity, -Infinity];
        for (let j = 0; j < line.length; j++) {
          const score = line[j][left] + right * (line[j][left + 1] - line[j][left]);
          if (score > value) {
            second = value;
            value = score;
            best = j;
          } else if (score > second) second = score;
        }
        let distance = value - second;
        if (line.length === 1) [best, distance] = value > 0 ? [1, value] : [0, -value];
        dots[to] = inks[best][Math.min(LEVELS, (LEVELS * distance) / unit) | 0];
      }
    }
    this.shades.getContext("2d").putImageData(this.image, 0, 0);
    this.context.imageSmoothingEnabled = true;
    this.context.drawImage(this.shades, 0, 0, size * width, size * height);
  }

  drawPoints({ points, theme, c, run, drawn, changed, selected }, colours) {
    const { context } = this;
    const sizes = points.map((_, i) => (run ? Math.max(...c.map((each) => Math.abs(each[i]))) : 0));
    const largest = Math.max(...sizes, 1e-300);
    const small = points.length > 400 ? 2.4 : 3.4;
    points.forEach((point, i) => {
      const [x, y] = this.toScreen(point);
      const supports = Boolean(run) && sizes[i] > 1e-12 * largest;
      const radius = supports ? small + 4.2 * Math.sqrt(sizes[i] / largest) : small;
      const stamp = this.stamp(point.c, Math.round(4 * radius) / 4, supports, theme);
      context.drawImage(stamp, x - stamp.size / 2, y - stamp.size / 2, stamp.size, stamp.size);
    });
    for (const i of drawn || []) if (points[i]) this.ring(points[i], changed.has(i), colours, theme);
    if (selected !== null && points[selected]) this.select(points[selected], colours);
  }

  // A point as a small picture, which is quicker to put than to draw: support vectors have a dark edge.
  stamp(c, radius, supports, theme) {
    const name = `${theme} ${c} ${radius} ${supports} ${this.ratio}`;
    if (this.stamps.has(name)) return this.stamps.get(name);
    const stamp = document.createElement("canvas");
    stamp.size = Math.ceil(2.6 * radius + 4);
    stamp.width = stamp.height = stamp.size * this.ratio;
    const context = stamp.getContext("2d");
    context.scale(this.ratio, this.ratio);
    trace(context, c, stamp.size / 2, stamp.size / 2, radius);
    context.fillStyle = classColour(c, theme);
    context.fill();
    Object.assign(context, { strokeStyle: supports ? THEMES[theme].ring : THEMES[theme].plane, lineWidth: supports ? 1.4 : 0.8 });
    context.stroke();
    this.stamps.set(name, stamp);
    return stamp;
  }

  // The drawn example has a ring, and a second one in its class's colour where it changed something.
  ring(point, changed, colours, theme) {
    const { context } = this;
    const [x, y] = this.toScreen(point);
    const circles = [[13, colours.plane, 6], [13, colours.ring, 3]];
    if (changed) circles.push([19, colours.plane, 6], [19, classColour(point.c, theme), 4]);
    for (const [radius, strokeStyle, lineWidth] of circles) {
      context.beginPath();
      context.arc(x, y, radius, 0, 2 * Math.PI);
      Object.assign(context, { strokeStyle, lineWidth });
      context.stroke();
    }
  }

  select(point, colours) {
    const { context } = this;
    const [x, y] = this.toScreen(point);
    Object.assign(context, { strokeStyle: colours.accent, lineWidth: 2.5 });
    context.setLineDash([4, 3]);
    context.strokeRect(x - 14, y - 14, 28, 28);
    context.setLineDash([]);
  }

  drawCursor({ cursor }, colours) {
    const { context } = this;
    const [x, y] = this.toScreen(cursor);
    context.beginPath();
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      context.moveTo(x + 5 * dx, y + 5 * dy);
      context.lineTo(x + 16 * dx, y + 16 * dy);
    }
    Object.assign(context, { strokeStyle: colours.ring, lineWidth: 2.5 });
    context.stroke();
  }
}

// A colour on its ground in growing strength, as the numbers that an image holds (red lowest).
const LEVELS = 63;
function strengths(colour, ground) {
  return Uint32Array.from({ length: LEVELS + 1 }, (_, k) => {
    const share = 0.14 + (0.36 * k) / LEVELS;
    const [r, g, b] = colour.map((value, channel) => Math.round(ground[channel] + share * (value - ground[channel])));
    return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
  });
}

// The fields along a line between two rows of the grid.
function mixRows(fields, { columns, rows }, row, line) {
  const top = Math.min(row | 0, rows - 2);
  const down = Math.min(row - top, 1);
  fields.forEach((field, j) => {
    const mixed = line[j];
    for (let k = 0, at = top * columns; k < columns; k++, at++) mixed[k] = field[at] + down * (field[at + columns] - field[at]);
  });
}

// A typical size of scores that have no unit of their own.
function spread(field) {
  let total = 0;
  for (let at = 0; at < field.length; at += 7) total += Math.abs(field[at]);
  return total / Math.ceil(field.length / 7);
}
