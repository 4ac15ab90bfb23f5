// Sliders of the charts, names of columns for tables that become cards on a phone, and keyboard access to regions
// that scroll.
"use strict";

function explore(figure) {
  const {sliders, frames} = JSON.parse(figure.querySelector("script").textContent);
  const paths = figure.querySelectorAll("svg path:not(.tick):not(.grid)");
  const words = figure.querySelector(".words");
  const box = document.createElement("div");
  box.className = "sliders";
  const inputs = sliders.map(({label, values, at}, number) => {
    const input = Object.assign(document.createElement("input"), {type: "range", min: 0, max: values.length - 1});
    const output = document.createElement("output");
    const name = document.createElement("label");
    input.value = at;
    input.dataset.number = number;
    name.append(`${label}: `, output, input);
    box.append(name);
    return {input, output, values};
  });
  figure.querySelector("figcaption").prepend(box);

  function draw() {
    let frame = 0;
    for (const {input, output, values} of inputs) {
      frame = frame * values.length + Number(input.value);
      output.textContent = values[input.value];
      input.setAttribute("aria-valuetext", values[input.value]);
    }
    frames[frame].paths.forEach((d, i) => paths[i].setAttribute("d", d));
    words.textContent = frames[frame].words;
  }
  inputs.forEach(({input}) => input.addEventListener("input", draw));
  draw();
}

// Where a row is a card, each cell needs the name of its column.
function label(table) {
  const names = [...table.querySelectorAll("thead th")].map(each => each.textContent.trim());
  for (const row of table.querySelectorAll("tbody tr")) {
    [...row.cells].forEach((cell, number) => {
      cell.dataset.column = names[number] || "";
      if (!cell.textContent.trim()) cell.dataset.empty = "";
    });
  }
}

// A region that scrolls must be reachable without a mouse.
function focusable() {
  for (const each of document.querySelectorAll("pre, div.math, .pst-scrollable-table-container, mjx-container[display]")) {
    if (each.scrollWidth > each.clientWidth + 1) each.tabIndex = 0;
  }
}

document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll("figure.explore").forEach(explore);
  document.querySelectorAll("table.cards").forEach(label);
  if (window.MathJax && MathJax.startup) MathJax.startup.promise.then(focusable);
});
window.addEventListener("load", focusable);
window.addEventListener("resize", focusable);
