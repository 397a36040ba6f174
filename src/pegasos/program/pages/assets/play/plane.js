// The plane: regions shaded by score, boundary, margins, the optimum dashed, points, and the example that was drawn.

import { contour, lead, makeGrid, scoreField, spacing } from "./field.js";
import { channels, classColour, THEMES, trace } from "./palette.js";

const HALF_WINDOW = 2.45;
const BUDGET = { moving: 1.5e6, still: 1.2e7 };

export class Plane {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.shades = document.createElement("canvas");
    this.boundary = null;
  }

  // Take the size that the page gives; answers whether it changed.
  resize() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    if (width === this.width && height === this.height && ratio === this.ratio) return false;
    Object.assign(this, { width, height, ratio });
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    const scale = Math.min(width, height) / (2 * HALF_WINDOW);
    this.view = { scale, left: -width / 2 / scale, top: height / 2 / scale };
    return true;
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
    context.fillStyle = colours.plane;
    context.fillRect(0, 0, width, height);
    if (shown.run) this.drawPredictor(shown, colours);
    else this.boundary = null;
    this.drawPoints(shown, colours);
    if (shown.cursor) this.drawCursor(shown, colours);
  }

  drawPredictor(shown, colours) {
    const { problem, spec } = shown.run;
    const support = problem.points.filter((_, i) => shown.c.some((c) => c[i] !== 0)).length * shown.c.length;
    const budget = BUDGET[shown.moving ? "moving" : "still"];
    const grid = makeGrid(this.view, this.width, this.height, spacing(this.width, this.height, support, spec.kernel, budget));
    const fields = shown.c.map((c) => scoreField(problem, spec.kernel, c, grid));
    this.shade(fields, grid, problem.classes, shown.theme, spec.model === "perceptron");
    const leads = fields.length === 1 ? fields : fields.map((_, j) => lead(fields, j));
    const boundary = leads.map((field) => contour(field, grid, 0));
    if (shown.stepped && this.boundary) this.stroke(this.boundary, colours.soft, 1.5, [2, 4]);
    if (fields.length === 1 && spec.model !== "perceptron") {
      this.stroke([contour(fields[0], grid, 1), contour(fields[0], grid, -1)], colours.ink, 1.2, [1.5, 4]);
    }
    this.stroke(boundary, colours.ink, 2.6, []);
    this.boundary = boundary;
    if (shown.optimum) {
      const best = shown.optimum.map((c) => scoreField(problem, spec.kernel, c, grid));
      const edges = best.length === 1 ? best : best.map((_, j) => lead(best, j));
      this.stroke(edges.map((field) => contour(field, grid, 0)), colours.plane, 5, []);
      this.stroke(edges.map((field) => contour(field, grid, 0)), colours.accent, 2.6, [9, 6]);
    }
  }

  stroke(lines, colour, width, dashes) {
    const { context } = this;
    context.beginPath();
    for (const line of lines) {
      for (let at = 0; at < line.length; at += 4) {
        context.moveTo(line[at], line[at + 1]);
        context.lineTo(line[at + 2], line[at + 3]);
      }
    }
    Object.assign(context, { strokeStyle: colour, lineWidth: width, lineCap: "round" });
    context.setLineDash(dashes);
    context.stroke();
    context.setLineDash([]);
  }

  // Regions in the colours of their classes, the stronger the further the score is from a change: one pixel for two.
  shade(fields, grid, classes, theme, scaleFree) {
    const [width, height] = [Math.ceil(this.width / 2), Math.ceil(this.height / 2)];
    if (this.shades.width !== width || this.shades.height !== height) {
      [this.shades.width, this.shades.height] = [width, height];
      this.image = this.shades.getContext("2d").createImageData(width, height);
    }
    const { data } = this.image;
    const colours = classes.map((c) => channels(classColour(c, theme)));
    const unit = scaleFree ? Math.max(...fields.map(spread)) || 1 : 1;
    const { columns, pixels } = grid;
    const values = new Float64Array(fields.length);
    for (let py = 0, to = 0; py < height; py++) {
      const row = (2 * py) / pixels;
      const top = Math.floor(row);
      const down = row - top;
      for (let px = 0; px < width; px++, to += 4) {
        const column = (2 * px) / pixels;
        const left = Math.floor(column);
        const right = column - left;
        const at = top * columns + left;
        for (let j = 0; j < fields.length; j++) {
          const field = fields[j];
          const upper = field[at] + right * (field[at + 1] - field[at]);
          const below = at + columns < field.length ? at + columns : at;
          const lower = field[below] + right * (field[below + 1] - field[below]);
          values[j] = upper + down * (lower - upper);
        }
        const [winner, distance] = winning(values);
        const [r, g, b] = colours[winner];
        data[to] = r;
        data[to + 1] = g;
        data[to + 2] = b;
        data[to + 3] = 36 + 92 * Math.min(1, distance / unit / 1.6);
      }
    }
    this.shades.getContext("2d").putImageData(this.image, 0, 0);
    this.context.imageSmoothingEnabled = true;
    this.context.drawImage(this.shades, 0, 0, 2 * width, 2 * height);
  }

  drawPoints({ points, theme, c, run, drawn, changed, selected }, colours) {
    const { context } = this;
    const sizes = points.map((_, i) => (run ? Math.max(...c.map((each) => Math.abs(each[i]))) : 0));
    const largest = Math.max(...sizes, 1e-300);
    const small = points.length > 400 ? 2.4 : 3.4;
    points.forEach((point, i) => {
      const [x, y] = this.toScreen(point);
      const supports = sizes[i] > 1e-12 * largest && run;
      trace(context, point.c, x, y, supports ? small + 5 * Math.sqrt(sizes[i] / largest) : small);
      context.globalAlpha = supports || !run ? 1 : 0.75;
      context.fillStyle = classColour(point.c, theme);
      context.fill();
      Object.assign(context, { strokeStyle: supports ? colours.ring : colours.plane, lineWidth: supports ? 1.4 : 0.8 });
      context.stroke();
      context.globalAlpha = 1;
    });
    for (const i of drawn || []) if (points[i]) this.ring(points[i], changed.has(i), colours, theme);
    if (selected !== null && points[selected]) this.select(points[selected], colours);
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

// The class that wins, and by how much: over zero for one predictor, over the second for several.
function winning(values) {
  if (values.length === 1) return values[0] > 0 ? [1, values[0]] : [0, -values[0]];
  let [best, second] = [0, -Infinity];
  for (let j = 1; j < values.length; j++) {
    if (values[j] > values[best]) [second, best] = [values[best], j];
    else if (values[j] > second) second = values[j];
  }
  return [best, values[best] - second];
}

// A typical size of scores that have no unit of their own.
function spread(field) {
  let total = 0;
  for (let at = 0; at < field.length; at += 7) total += Math.abs(field[at]);
  return total / Math.ceil(field.length / 7);
}
