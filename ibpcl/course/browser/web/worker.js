// Python in a worker: the page stays alive, and Stop ends it. Everything is loaded from beside this file.
import {loadPyodide} from "./pyodide/pyodide.mjs";

const QUIET = {messageCallback: () => {}};
const say = (status) => self.postMessage({status});
let python = null, whole = null, api = null, kept = "{}";

async function archive(name) {
  const answer = await fetch(new URL(name, self.location.href));
  if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
  python.unpackArchive(await answer.arrayBuffer(), "zip", {extractDir: "/course"});
}

// The core, NumPy and the checker: what the check of own code needs.
async function first() {
  if (python) return;
  say("Loading Python ...");
  python = await loadPyodide({indexURL: new URL("pyodide/", self.location.href).href});
  await Promise.all([python.loadPackage("numpy", QUIET), archive("first.zip")]);
  python.runPython(`
import sys, os
sys.path.insert(0, "/course")
os.makedirs("/home/reader", exist_ok=True)
os.chdir("/home/reader")
`);
}

// The rest of the package, for the path and the tutorials.
function rest() {
  whole = whole || (async () => {
    await first();
    say("Loading the course ...");
    await Promise.all([python.loadPackage("scipy", QUIET), archive("rest.zip")]);
    python.runPython("import importlib; importlib.invalidate_caches()");
    api = python.pyimport("ibpcl.course.browser.tab");
    api.restore(kept);
  })();
  return whole;
}

const CALLS = {
  async keep(files) { kept = files; return ""; },
  async verdict(source) {
    await first();
    await python.loadPackagesFromImports(source, QUIET);
    say("Checking ...");
    python.globals.set("source", source);
    return python.runPython(`
from ibpcl.verify.running import checking, user
with open("mine.py", "w") as file:
    file.write(source)
"\\n\\n".join(item.text() for item in checking.results_here(user.Request("mine.py", timeout=60.0))).replace("mine.py:", "")
`);
  },
  async run(number, code) {
    await rest();
    say("Loading Matplotlib ...");
    await python.loadPackage("matplotlib", QUIET);
    say("Running ...");
    return api.run(number, code);
  },
};

self.onmessage = async ({data: {id, call, args}}) => {
  try {
    let value;
    if (CALLS[call]) value = await CALLS[call](...args);
    else {
      await rest();
      say(call === "check" ? "Checking ..." : "");
      value = api[call](...args.map((each) => each instanceof Uint8Array ? python.toPy(each) : each));
      if (value && value.toJs) value = value.toJs();
    }
    self.postMessage({id, value});
  } catch (error) {
    const lines = String(error.message).trim().split("\n");
    self.postMessage({id, error: lines[lines.length - 1].replace(/^ibpcl\.errors\.UserError: /, "")});
  }
};
self.postMessage({ready: true});
