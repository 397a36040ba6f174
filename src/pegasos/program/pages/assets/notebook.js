(function (frame) {
  // Tell the page in the frame whether the notebook around it is dark: by the first background that is not transparent.
  const tell = () => {
    for (let at = frame.parentElement; at; at = at.parentElement) {
      const [red, green, blue, alpha = 1] = getComputedStyle(at).backgroundColor.match(/[\d.]+/g).map(Number);
      if (alpha < 0.5) continue;
      frame.contentWindow.postMessage({ theme: 2 * red + 5 * green + blue < 8 * 110 ? "dark" : "light" }, "*");
      return;
    }
  };
  frame.addEventListener("load", tell);
  new MutationObserver(tell).observe(document.body, { attributes: true });
})(document.currentScript.previousElementSibling);
