// The sizes of canvases, as the browser tells them: to ask for them in every frame would make it lay out the page each time.

const watched = new WeakMap();

// Call `changed` whenever one of these elements gets another size.
export function watchSizes(elements, changed) {
  const observer = new ResizeObserver((entries) => {
    for (const { target } of entries) watched.set(target, [target.clientWidth, target.clientHeight]);
    changed();
  });
  for (const element of elements) observer.observe(element);
}

// Make the canvas as fine as the screen; answers its width and height, and how many of its dots are a pixel of the page.
export function fitted(canvas) {
  if (!watched.has(canvas)) watched.set(canvas, [canvas.clientWidth, canvas.clientHeight]);
  const [width, height] = watched.get(canvas);
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  const [across, down] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== across) canvas.width = across;
  if (canvas.height !== down) canvas.height = down;
  return { width, height, ratio };
}
