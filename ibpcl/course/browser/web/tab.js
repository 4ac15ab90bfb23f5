// The page of the browser course. Python is in a worker; the reader's folder is kept in IndexedDB.
const $ = (id) => document.getElementById(id);
const status = (words) => { if (words) $("status").textContent = words; };

// --- the reader's folder in the browser ------------------------------------------------------------
const base = new Promise((done, failed) => {
  const request = indexedDB.open("ibpcl", 1);
  request.onupgradeneeded = () => request.result.createObjectStore("folder");
  request.onsuccess = () => done(request.result);
  request.onerror = () => failed(request.error);
});
const stored = async (mode, act) => {
  const store = (await base).transaction("folder", mode).objectStore("folder");
  return new Promise((done, failed) => {
    const request = act(store);
    request.onsuccess = () => done(request.result);
    request.onerror = () => failed(request.error);
  });
};
const kept = async () => (await stored("readonly", (s) => s.get("my_ibpcl"))) || {};
const keep = (files) => stored("readwrite", (s) => s.put(files, "my_ibpcl"));

// --- Python ----------------------------------------------------------------------------------------
let worker = null, last = 0;
const waiting = new Map();

async function started() {
  if (worker) return;
  worker = new Worker(new URL("worker.js", import.meta.url), {type: "module"});
  worker.onmessage = ({data}) => {
    if (data.status) status(data.status);
    if (!waiting.has(data.id)) return;
    const {done, failed} = waiting.get(data.id);
    waiting.delete(data.id);
    if ("error" in data) failed(new Error(data.error)); else done(data.value);
  };
  worker.onerror = (error) => end(`Python could not be loaded: ${error.message || "see the console"}`);
  await ask("keep", JSON.stringify(await kept()));
}

function ask(call, ...args) {
  return new Promise((done, failed) => {
    last += 1;
    waiting.set(last, {done, failed});
    worker.postMessage({id: last, call, args});
  });
}

function end(words) {                                   // the next call loads Python again, with the kept folder
  worker.terminate();
  worker = null;
  for (const {failed} of waiting.values()) failed(new Error(words));
  waiting.clear();
}

// Run one action of a button: one at a time, with Stop.
async function act(action) {
  const buttons = [...document.querySelectorAll("main button")], were = buttons.map((b) => b.disabled);
  buttons.forEach((b) => { b.disabled = true; });
  $("stop").disabled = false;
  try {
    await started();
    await action();
    status("Ready.");
  } catch (error) {
    status(error.message);
  }
  $("stop").disabled = true;
  buttons.forEach((b, at) => { b.disabled = were[at]; });
}
const on = (id, action) => $(id).addEventListener("click", () => act(action));
$("stop").addEventListener("click", () => end("Stopped."));

// --- parts of the page -----------------------------------------------------------------------------
for (const button of document.querySelectorAll("nav button")) {
  button.addEventListener("click", async () => {
    for (const other of document.querySelectorAll("nav button")) {
      other.setAttribute("aria-pressed", other === button);
      $(other.dataset.part).hidden = other !== button;
    }
    if (button.dataset.part === "path" && !$("chapter").length) act(async () => show(await ask("state")));
    if (button.dataset.part === "tutorials" && !$("tutorial").length) act(async () => {
      for (const [number, title] of JSON.parse(await ask("names"))) $("tutorial").add(new Option(`${number}. ${title}`, number));
    });
  });
}

on("check-own", async () => {
  $("verdict").textContent = "";
  $("verdict").textContent = await ask("verdict", $("source").value);
});

// --- the path --------------------------------------------------------------------------------------
let state = null;

function show(text) {
  state = JSON.parse(text);
  keep(state.files);
  const chosen = $("chapter").value;
  $("chapter").replaceChildren(...state.chapters.map((c) =>
    new Option(`${c.number}. ${c.title} (${c.done} of ${Object.keys(c.exercises).length} done)`, c.number)));
  if (chosen) $("chapter").value = chosen;
}

function openFiles() {
  const chapter = state.chapters[$("chapter").selectedIndex];
  $("files").replaceChildren(...chapter.files.flatMap((name) => {
    const label = document.createElement("label"), area = document.createElement("textarea");
    area.id = `file-${name}`;
    area.dataset.name = name;
    area.value = state.files[name] || "";
    area.rows = Math.min(40, area.value.split("\n").length + 2);
    area.spellcheck = false;
    area.addEventListener("input", async () => {       // what is typed survives a reload at once
      state.files[name] = area.value;
      await keep(state.files);
    });
    label.htmlFor = area.id;
    label.textContent = name;
    return [label, area];
  }));
  $("exercise").replaceChildren(...Object.entries(chapter.exercises).map(([n, title]) => new Option(`${n} ${title}`, n)));
}

on("start", async () => {
  show(await ask("start", Number($("chapter").value || 0)));
  openFiles();
  setTimeout(() => { $("check-chapter").disabled = $("hint").disabled = false; });
});
$("chapter").addEventListener("change", () => {
  $("files").replaceChildren();
  $("verdicts").replaceChildren();
  $("check-chapter").disabled = $("hint").disabled = true;
});

on("check-chapter", async () => {
  for (const area of $("files").querySelectorAll("textarea")) await ask("save", area.dataset.name, area.value);
  const text = await ask("check", Number($("chapter").value));
  show(text);
  $("verdicts").replaceChildren(...JSON.parse(text).verdicts.map(({exercise, title, state: verdict, lines}) => {
    const box = document.createElement("div");
    box.className = `verdict ${verdict}`;
    for (const words of [`${exercise} ${title}: ${verdict}`, ...lines]) {
      const line = document.createElement("p");
      line.textContent = words;
      box.append(line);
    }
    return box;
  }));
});

on("hint", async () => { const words = await ask("hint", $("exercise").value); show(await ask("state")); setTimeout(() => status(words)); });

on("download", async () => {
  for (const area of $("files").querySelectorAll("textarea")) await ask("save", area.dataset.name, area.value);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([await ask("export")], {type: "application/zip"}));
  link.download = "my_ibpcl.zip";
  link.click();
});
$("upload").addEventListener("change", () => act(async () => {
  show(await ask("take", new Uint8Array(await $("upload").files[0].arrayBuffer())));
  $("files").replaceChildren();
}));

// --- tutorials -------------------------------------------------------------------------------------
let number = 0;

async function run(box) {
  const shown = JSON.parse(await ask("run", number, box.querySelector("textarea").value));
  const out = box.querySelector("div");
  const words = document.createElement("pre");
  words.textContent = shown.error ? `${shown.text}${shown.error}` : shown.text;
  out.replaceChildren(words, ...shown.figures.map((data) => {
    const image = new Image();
    image.src = `data:image/png;base64,${data}`;
    image.alt = "Figure of the cell above";
    return image;
  }));
  if (shown.error) throw new Error(shown.error);
}

on("open", async () => {
  number = Number($("tutorial").value);
  $("cells").replaceChildren(...JSON.parse(await ask("tutorial", number)).map((cell, at) => {
    const box = document.createElement("div");
    if (cell.html) { box.innerHTML = cell.html; return box; }
    const area = document.createElement("textarea"), button = document.createElement("button");
    area.value = cell.code;
    area.rows = cell.code.split("\n").length + 1;
    area.spellcheck = false;
    area.setAttribute("aria-label", `Code cell ${at}`);
    button.type = "button";
    button.textContent = "Run";
    button.addEventListener("click", () => act(() => run(box)));
    box.className = "code";
    box.append(area, button, document.createElement("div"));
    return box;
  }));
  setTimeout(() => { $("run-all").disabled = false; });
});
on("run-all", async () => { for (const box of $("cells").querySelectorAll(".code")) await run(box); });
