// The page's side of the check in the browser: a worker has Python, so that the page stays alive and Stop stops it.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const form = document.querySelector("form.browser-check");
  if (!form) return;
  const source = form.querySelector("textarea"), words = form.querySelector("pre");
  const [check, stop] = form.querySelectorAll("button");
  const script = document.querySelector('script[src*="browser-check.js"]').src;
  let worker = null;

  function finish(text, over) {
    words.textContent = text;
    check.disabled = false;
    stop.disabled = true;
    if (over) {                                              // the next check loads Python again
      worker.terminate();
      worker = null;
    }
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!worker) {
      worker = new Worker(new URL("browser-worker.js", script));
      worker.onmessage = ({data}) => {
        if (data.done) finish(data.words, data.over);
        else words.textContent = data.words;
      };
      worker.onerror = (error) => finish(`Python could not be loaded: ${error.message}`, true);
    }
    check.disabled = true;
    stop.disabled = false;
    words.textContent = "Loading ...";
    worker.postMessage(source.value);
  });
  stop.addEventListener("click", () => finish("Stopped.", true));
});
