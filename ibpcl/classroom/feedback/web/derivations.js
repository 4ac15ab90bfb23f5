// Grade derivations in the browser: everything stays in this page and in localStorage.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const entries = Array.from(document.querySelectorAll("article.entry"));
  const key = "ibpcl-derivations-" + data.key;
  const byId = (name) => document.getElementById(name);
  let at = 0;

  // What was graded here before; a browser may forbid the storage of a page opened as a file.
  const stored = (() => {
    try { return JSON.parse(localStorage.getItem(key)) || {}; } catch { return {}; }
  })();
  // A row that has changed in by-hand.csv since then counts, not what this browser remembers.
  const grades = data.entries.map((entry, n) => {
    const kept = stored[entry.student + "\t" + entry.task];
    const same = kept && kept.from === entry.points + "\t" + entry.comment;
    return same ? kept : {
      points: entry.points, comment: entry.comment, items: [],
      from: entry.points + "\t" + entry.comment,
    };
  });

  function save() {
    const all = {};
    data.entries.forEach((entry, n) => { all[entry.student + "\t" + entry.task] = grades[n]; });
    try { localStorage.setItem(key, JSON.stringify(all)); }
    catch { byId("storage").hidden = false; }
    progress();
  }

  // With a server of `ibpcl class by-hand`, an entry is saved there when it is complete.
  const waiting = new Map();
  const unsaved = new Map();  // entry to the reason why it is not saved; empty while it waits
  let sending = Promise.resolve();

  function later(n) {
    if (!data.token) { return; }
    unsaved.set(n, "");
    clearTimeout(waiting.get(n));
    waiting.set(n, setTimeout(() => { waiting.delete(n); sending = sending.then(() => send(n)); }, 500));
  }

  async function send(n) {
    const entry = data.entries[n];
    const points = grades[n].points.trim(), comment = grades[n].comment.trim();
    try {
      const reply = await fetch("save", {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-Token": data.token },
        body: JSON.stringify({
          student: entry.student, task: entry.task, points: points, comment: comment,
          seen_points: entry.points, seen_comment: entry.comment,
        }),
      });
      if (!reply.ok) { throw new Error(await reply.text()); }
      entry.points = points;
      entry.comment = comment;
      grades[n].from = points + "\t" + comment;
      if (!waiting.has(n)) { unsaved.delete(n); }
    } catch (error) {
      unsaved.set(n, error.message);
    }
    const failed = Array.from(unsaved).filter(([, reason]) => reason);
    byId("saved").className = failed.length ? "wrong" : "quiet";
    byId("saved").textContent = failed.length
      ? "not saved: " + failed.map(([m, reason]) => data.entries[m].label + ": " + reason).join("; ")
      : "saved: " + entry.label;
  }

  window.addEventListener("beforeunload", (event) => { if (unsaved.size) { event.preventDefault(); } });

  function number(text) {
    const value = Number(String(text).trim().replace(",", "."));
    return String(text).trim() === "" || !Number.isFinite(value) ? null : value;
  }

  function valid(n) {
    const value = number(grades[n].points);
    return value !== null && value >= 0 && value <= data.entries[n].most;
  }

  function progress() {
    const done = grades.filter((_, n) => valid(n)).length;
    byId("progress").textContent = done + " of " + grades.length + " graded";
    byId("bar").value = done;
    Array.from(byId("list").children).forEach((button, n) => {
      button.classList.toggle("done", valid(n));
      button.setAttribute("aria-current", n === at ? "true" : "false");
    });
  }

  function show(n) {
    if (!entries.length) { return; }
    at = Math.min(Math.max(n, 0), entries.length - 1);
    entries.forEach((entry, m) => { entry.hidden = m !== at && !document.body.classList.contains("all"); });
    const form = entries[at].querySelector("form");
    const grade = grades[at];
    form.points.value = grade.points;
    form.comment.value = grade.comment;
    form.querySelectorAll("input[type=checkbox]").forEach((box, m) => { box.checked = grade.items.includes(m); });
    check(form);
    progress();
    byId("list").children[at].scrollIntoView({ block: "nearest", inline: "nearest" });
    if (document.body.classList.contains("all")) { entries[at].scrollIntoView({ block: "start" }); }
    else { window.scrollTo(0, 0); }
  }

  function check(form) {
    const n = Number(form.dataset.at);
    const empty = grades[n].points.trim() === "";
    form.points.setAttribute("aria-invalid", !empty && !valid(n) ? "true" : "false");
  }

  function changed(form, byItem) {
    const n = Number(form.dataset.at);
    if (byItem) {
      const boxes = Array.from(form.querySelectorAll("input[type=checkbox]"));
      grades[n].items = boxes.flatMap((box, m) => box.checked ? [m] : []);
      const sum = boxes.reduce((total, box) => total + (box.checked ? Number(box.value) : 0), 0);
      form.points.value = String(Math.round(100 * sum) / 100);
    }
    grades[n].points = form.points.value;
    grades[n].comment = form.comment.value;
    check(form);
    save();
    later(n);
  }

  function next(step) { show(at + step); }

  function nextOpen() {
    for (let k = 1; k <= grades.length; k += 1) {
      const n = (at + k) % grades.length;
      if (!valid(n)) { show(n); return; }
    }
  }

  function cell(value) {
    const text = /^[=+\-@\t\r]/.test(value.normalize("NFKC")) ? "'" + value : value;
    return /[",;\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  }

  function table() {
    const rows = [["student", "task", "most", "comment", "points"]];
    data.entries.forEach((entry, n) => {
      rows.push([entry.student, entry.task, String(entry.most), grades[n].comment.trim(), grades[n].points.trim()]);
    });
    data.others.forEach((row) => rows.push(row));
    return "\ufeff" + rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
  }

  function download() {
    const bad = grades.findIndex((grade, n) => grade.points.trim() !== "" && !valid(n));
    if (bad >= 0) {
      show(bad);
      entries[bad].querySelector("form").points.focus();
      return;
    }
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([table()], { type: "text/csv;charset=utf-8" }));
    link.download = "by-hand.csv";
    document.body.append(link);
    link.click();
    link.remove();
  }

  data.entries.forEach((entry, n) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = entry.label;
    button.addEventListener("click", () => show(n));
    byId("list").append(button);
    const form = entries[n].querySelector("form");
    form.addEventListener("input", (event) => { at = n; changed(form, event.target.type === "checkbox"); });
    form.addEventListener("focusin", () => { if (at !== n) { at = n; progress(); } });
    form.addEventListener("submit", (event) => { event.preventDefault(); nextOpen(); });
  });
  byId("bar").max = grades.length;
  byId("previous").addEventListener("click", () => next(-1));
  byId("next").addEventListener("click", () => next(1));
  byId("download").addEventListener("click", download);
  byId("all").addEventListener("change", (event) => {
    document.body.classList.toggle("all", event.target.checked);
    entries.forEach((entry, n) => {
      const form = entry.querySelector("form");
      form.points.value = grades[n].points;
      form.comment.value = grades[n].comment;
      form.querySelectorAll("input[type=checkbox]").forEach((box, m) => { box.checked = grades[n].items.includes(m); });
    });
    show(at);
  });

  document.addEventListener("keydown", (event) => {
    const writing = /^(INPUT|TEXTAREA)$/.test(event.target.tagName) && event.target.type !== "checkbox";
    if (event.ctrlKey || event.metaKey || event.altKey) { return; }
    if (event.key === "Escape" && writing) { event.target.blur(); return; }
    if (writing || !entries.length) { return; }
    const form = entries[at].querySelector("form");
    const boxes = form.querySelectorAll("input[type=checkbox]");
    const actions = {
      j: () => next(1), ArrowRight: () => next(1), k: () => next(-1), ArrowLeft: () => next(-1),
      n: nextOpen, p: () => form.points.focus(), c: () => form.comment.focus(),
    };
    if (/^[1-9]$/.test(event.key) && boxes[Number(event.key) - 1]) {
      const box = boxes[Number(event.key) - 1];
      box.checked = !box.checked;
      changed(form, true);
    } else if (actions[event.key]) {
      actions[event.key]();
    } else {
      return;
    }
    event.preventDefault();
  });

  document.body.classList.add("ready");
  const first = grades.findIndex((_, n) => !valid(n));
  show(first < 0 ? 0 : first);
  // What could not be saved before the page was loaded again is in this browser's storage.
  data.entries.forEach((entry, n) => {
    if (grades[n].points.trim() !== entry.points || grades[n].comment.trim() !== entry.comment) { later(n); }
  });
  window.gradingTable = table;
})();
