// Colours and shapes. Classes have the colours of Okabe and Ito, which people who are colour-blind can tell apart, and a shape each.

export const THEMES = {
  light: {
    ink: "#16202c", soft: "#536070", line: "#d9dfe6", paper: "#ffffff", raised: "#f5f7f9", accent: "#0b5fa5",
    other: "#00797f", good: "#14713f", warn: "#8a4b00", plane: "#ffffff", optimum: "#7a1fa2", ring: "#000000",
  },
  dark: {
    ink: "#eef2f6", soft: "#aab5c2", line: "#343e4a", paper: "#0f1318", raised: "#1a2029", accent: "#7cbcf5",
    other: "#4dd0e1", good: "#6fd3a0", warn: "#f3cf93", plane: "#0b0e12", optimum: "#f0a8ff", ring: "#ffffff",
  },
};

const CLASSES = [
  ["#0072b2", "#56b4e9", "circle", "blue circles"],
  ["#d55e00", "#ff8a3d", "square", "orange squares"],
  ["#00875f", "#2fd3a0", "triangle", "green triangles"],
  ["#b0518a", "#ea9cc9", "diamond", "pink diamonds"],
  ["#9a7d00", "#f0e442", "cross", "yellow crosses"],
  ["#3a3f8f", "#a3a9ff", "fallen", "indigo fallen triangles"],
  ["#5c5c5c", "#c8c8c8", "hexagon", "grey hexagons"],
  ["#7b3f00", "#d9a066", "star", "brown stars"],
  ["#007a87", "#4fd8e6", "bar", "teal bars"],
  ["#8b1a1a", "#ff8080", "pillar", "red pillars"],
];

export const classColour = (c, theme) => CLASSES[c][theme === "dark" ? 1 : 0];
export const className = (c) => CLASSES[c][3];

// A colour as three numbers.
export const channels = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));

const polygon = (corners, turn) =>
  Array.from({ length: corners }, (_, k) => [Math.sin(turn + (2 * Math.PI * k) / corners), -Math.cos(turn + (2 * Math.PI * k) / corners)]);
const box = (w, h) => [[-w, -h], [w, -h], [w, h], [-w, h]];
const SHAPES = {
  square: box(0.88, 0.88),
  triangle: polygon(3, 0).map(([x, y]) => [1.2 * x, 1.2 * y + 0.2]),
  diamond: polygon(4, 0).map(([x, y]) => [1.2 * x, 1.2 * y]),
  cross: [[-0.35, -1], [0.35, -1], [0.35, -0.35], [1, -0.35], [1, 0.35], [0.35, 0.35], [0.35, 1], [-0.35, 1], [-0.35, 0.35], [-1, 0.35], [-1, -0.35], [-0.35, -0.35]],
  fallen: polygon(3, Math.PI).map(([x, y]) => [1.2 * x, 1.2 * y - 0.2]),
  hexagon: polygon(6, 0),
  star: polygon(10, 0).map(([x, y], k) => (k % 2 ? [0.55 * x, 0.55 * y] : [1.25 * x, 1.25 * y])),
  bar: box(1.15, 0.55),
  pillar: box(0.55, 1.15),
};

// The outline of a class's shape around (x, y), as a path of the canvas.
export function trace(context, c, x, y, radius) {
  const corners = SHAPES[CLASSES[c][2]];
  context.beginPath();
  if (!corners) {
    context.arc(x, y, radius, 0, 2 * Math.PI);
    return;
  }
  corners.forEach(([dx, dy], k) => context[k ? "lineTo" : "moveTo"](x + radius * dx, y + radius * dy));
  context.closePath();
}

// The same shape as an SVG, for buttons and keys of charts.
export function icon(c, theme) {
  const corners = SHAPES[CLASSES[c][2]];
  const at = (value) => (8 + 6 * value).toFixed(1);
  const shape = corners
    ? `<polygon points="${corners.map(([x, y]) => `${at(x)},${at(y)}`).join(" ")}"/>`
    : '<circle cx="8" cy="8" r="6"/>';
  return `<svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" fill="${classColour(c, theme)}">${shape}</svg>`;
}
