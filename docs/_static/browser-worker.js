// Python in a worker: Pyodide, NumPy and the checker, and SciPy where the code imports it; all from beside this file.
"use strict";

const START = `
import sys

sys.path.insert(0, "/checker")
from ibpcl.verify.running import checking, user

def verdicts(source):
    with open("/mine.py", "w") as file:
        file.write(source)
    found = checking.results_here(user.Request("/mine.py", timeout=60.0))
    return "\\n\\n".join(item.text() for item in found).replace("/mine.py:", "")
`;
const QUIET = {messageCallback: () => {}};
let python = null;

async function start() {
  const home = new URL("pyodide/", self.location.href).href;
  importScripts(home + "pyodide.js");
  const loaded = await loadPyodide({indexURL: home});
  await loaded.loadPackage("numpy", QUIET);
  const checker = await fetch(home + "ibpcl.zip");
  loaded.unpackArchive(await checker.arrayBuffer(), "zip", {extractDir: "/checker"});
  loaded.runPython(START);
  return loaded;
}

self.onmessage = async ({data}) => {
  try {
    python = python || await start();
    await python.loadPackagesFromImports(data, QUIET);
    self.postMessage({words: "Checking ..."});
    self.postMessage({words: python.globals.get("verdicts")(data), done: true});
  } catch (error) {
    self.postMessage({words: `This went wrong: ${error.message}`, done: true, over: true});
  }
};
