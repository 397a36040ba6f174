"use strict";
// Pictures are grey bytes in base64, drawn pixel by pixel.
function paint(canvas, text) {
  const bytes = atob(text), context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  for (let i = 0; i < bytes.length && 4 * i + 3 < image.data.length; i++) {
    const grey = bytes.charCodeAt(i);
    image.data.set([grey, grey, grey, 255], 4 * i);
  }
  context.putImageData(image, 0, 0);
}

function picture(text, shape, spoken) {
  const canvas = make("canvas", null, "picture");
  canvas.width = shape[1];
  canvas.height = shape[0];
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", spoken);
  paint(canvas, text);
  return canvas;
}

for (const canvas of document.querySelectorAll("canvas[data-picture]")) paint(canvas, canvas.dataset.picture);
