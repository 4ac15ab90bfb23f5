"""Fixtures: every test has a separate cache folder and sees only image sets that it makes."""

import gzip
import hashlib
import http.server
import importlib.metadata
import os
import threading

import numpy as np
import pytest
from packaging.version import Version

from ibpcl.data import idx
from ibpcl.data.sources import FILES, SOURCES, Source

REAL_DATA = os.environ.get("IBPCL_DATA")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("IBPCL_DATA", raising=False)
    return tmp_path / "cache" / "ibpcl"


@pytest.fixture(scope="session")
def real_data():
    if not REAL_DATA:
        pytest.skip("the environment variable IBPCL_DATA names no folder with the real image sets")
    return REAL_DATA


@pytest.fixture
def all_fonts():
    """Skip the test under a Matplotlib that lacks a font: cmti10 came with 3.11."""
    version = importlib.metadata.version("matplotlib")
    if Version(version) < Version("3.11"):
        pytest.skip(f"Matplotlib {version} lacks the font cmti10")


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """Replace MNIST by 20 + 10 random images; gives the contents of its four files and a folder
    with them.
    """
    rng = np.random.default_rng(0)
    contents = {}
    for file, shape in zip(FILES, [(20, 28, 28), (20,), (10, 28, 28), (10,)], strict=True):
        high = 256 if "images" in file else 10
        contents[file] = idx.encode(rng.integers(0, high, shape, dtype=np.uint8))
    sums = tuple(hashlib.sha256(contents[file]).hexdigest() for file in FILES)
    monkeypatch.setitem(
        SOURCES, "mnist", Source(tuple("0123456789"), sums, ("http://127.0.0.1:9/",))
    )
    folder = tmp_path / "data"
    (folder / "mnist").mkdir(parents=True)
    for i, file in enumerate(FILES):  # two as they are, two packed
        if i % 2:
            (folder / "mnist" / f"{file}.gz").write_bytes(gzip.compress(contents[file]))
        else:
            (folder / "mnist" / file).write_bytes(contents[file])
    return contents, folder


@pytest.fixture
def mirror():
    """Serve files on this machine: a dict of path to contents, with the address under ``url``."""
    files = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            content = files.get(self.path)
            self.send_response(404 if content is None else 200)
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, *arguments):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        files["url"] = f"http://127.0.0.1:{server.server_address[1]}"
        yield files
        server.shutdown()
        thread.join()
