"""Download of the published image sets, with ``pooch``.

A file is verified before it is written, and written atomically, so an interrupted download leaves
no damaged file behind.
"""

import gzip
import io

from ibpcl import storage
from ibpcl.data import glyphs, idx, notmnist
from ibpcl.data.dataset import DataError
from ibpcl.data.sources import (
    FILES,
    SOURCES,
    check_contents,
    check_sum,
    data_folder,
    dimensions_of,
    examine,
)

# Seconds to wait for an answer, so that a dead mirror does not block the next one.
TIMEOUT = 30.0
# Bytes of a download; no file of a set has more than 32 million.
LARGEST = 2**27


def fetch(name, data_dir=None, progress=False):
    """Download an image set, verify it and store it.

    Files with the right checksum are kept; missing or wrong ones are downloaded.

    Parameters
    ----------
    name : str
        ``"mnist"``, ``"fashion_mnist"`` or ``"notmnist"``.  For the rendered sets ``"glyphs"`` and
        ``"glyph_digits"``, the cache is filled.
    data_dir : path-like, optional
        Folder in which the folder ``name`` is created.  If not given, the environment variable
        ``IBPCL_DATA`` is used, else the user's cache.
    progress : bool
        Whether to show a progress bar on standard error for every file.

    Returns
    -------
    folder : pathlib.Path
        Folder of the files.

    Raises
    ------
    DataError
        If the name is unknown, ``pooch`` is not installed, no mirror provides the right files, or
        the folder cannot be written.
    """
    if name in glyphs.CHARACTERS:
        glyphs.load(name)
        return glyphs.cache_path(name).parent
    if name not in SOURCES:
        raise DataError(
            "the name of an image set must be one of "
            f"{', '.join((*glyphs.CHARACTERS, *SOURCES))}, got {name!r}"
        )
    folder = data_folder(data_dir) / name
    files = examine(name, data_dir)[1]
    # A wrong file is replaced only in the folder of the set; elsewhere it may be something else.
    wrong = {
        file: path if path is not None and path.parent == folder else folder / f"{file}.gz"
        for file, path, problem in files
        if problem
    }
    if not wrong:
        return folder
    download = _downloader(name, folder, progress)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if SOURCES[name].archive:
            arrays = _first_good(
                name, folder, SOURCES[name].urls, lambda url: _from_archive(name, url, download)
            )
            for file, path in wrong.items():
                _keep(path, arrays[file])
        else:
            for file, path in wrong.items():
                urls = [f"{url}{file}.gz" for url in SOURCES[name].urls]
                _keep(
                    path,
                    _first_good(
                        name,
                        folder,
                        urls,
                        lambda url, file=file: _one_file(name, file, url, download),
                    ),
                )
    except OSError as error:  # errors of the mirrors are DataErrors by now
        raise DataError(f"{folder}: cannot be written: {error.strerror or error}") from error
    return folder


def _downloader(name, folder, progress):
    """Return a function of an address that downloads its bytes."""
    try:
        import pooch
    except ModuleNotFoundError as error:
        raise DataError(
            f"downloading {name} needs the package pooch: pip install pooch, "
            f"or put the files into {folder}, or name another folder with `data_dir` or IBPCL_DATA"
        ) from error
    get = pooch.HTTPDownloader(progressbar=progress, chunk_size=2**16, timeout=TIMEOUT)

    def download(url):
        buffer = _Limited()
        try:
            get(url, buffer, None)
        except OSError as error:  # every error of requests is one
            raise DataError(f"{url}: the download failed: {_reason(error)}") from error
        return buffer.getvalue()

    return download


class _Limited(io.BytesIO):
    """A buffer that refuses to become larger than a download may be."""

    def write(self, data):
        if self.tell() + len(data) > LARGEST:
            raise OSError(f"it is larger than {LARGEST} bytes")
        return super().write(data)


def _reason(error):
    """Return the innermost cause of an error of requests.

    The text of such an error contains all outer errors, each with its address.

    >>> text = "Pool(host='a'): Max retries, url: /b (Caused by Failed('no such host'))"
    >>> _reason(OSError(text))
    "Failed('no such host')"
    """
    _, caused, inner = str(error).rpartition("Caused by ")
    return inner.removesuffix(")") if caused else str(error)


def _first_good(name, folder, urls, get):
    """Return the result of the first address that does not raise a DataError."""
    problems = []
    for url in urls:
        try:
            return get(url)
        except DataError as error:
            problems.append(str(error))
    raise DataError(
        f"{name} could not be downloaded: {'; '.join(problems)}; try again later, put the files "
        f"into {folder}, or name another folder with `data_dir` or IBPCL_DATA"
    )


def _one_file(name, file, url, download):
    content = idx.unpack(download(url), url)
    check_contents(name, file, url, content)  # before it is parsed
    return idx.parse(content, url, dimensions_of(file))


def _from_archive(name, url, download):
    archive = download(url)
    expected = SOURCES[name].size
    if expected not in (None, len(archive)):  # before any image of it is decoded
        raise DataError(
            f"{url}: expected an archive of {expected} bytes, got {len(archive)}; this is not the "
            "published one"
        )
    arrays = dict(zip(FILES, notmnist.convert(archive, url), strict=True))
    for file, array in arrays.items():
        check_sum(name, file, f"{url}, converted to {file}", array)
    return arrays


def _keep(path, array):
    content = idx.encode(array)
    storage.write_bytes(path, gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
