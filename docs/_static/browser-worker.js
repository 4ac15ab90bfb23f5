// Python in a worker: Pyodide, NumPy and the checker, and SciPy where the code imports it; all from beside this file.
"use strict";

const START = `
import sys
from types import SimpleNamespace

sys.path.insert(0, "/checker")
from ibpcl.errors import UserError
from ibpcl.verify.running import served, user
from ibpcl.verify.adapters import discovery, loading

def verdicts(source):
    with open("/mine.py", "w") as file:
        file.write(source)
    options = SimpleNamespace(path="/mine.py", names=[], shapes={}, wrt=None, seed=0, timeout=60.0, figures=False)
    try:
        loaded = loading.load(options.path)
        targets = discovery.targets_in(loaded.module)
        groups = served.groups_of(loaded.module, targets, options)
        chosen = served.choose(loaded, targets, options, groups)
    except UserError as error:
        return str(error)
    found = [user.checked(each.name, served.verdict_on(loaded, each, options)).text() for each in chosen]
    found += [user.checked(each.title, served.verdict_on_group(each, options)).text() for each in groups]
    return "\\n\\n".join(found).replace("/mine.py:", "")
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
