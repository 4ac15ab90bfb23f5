"""PNG files as figures inside a page, within a limit on its size.

The folder may come from another person. Links, files that are not PNG, and pictures that are too
large are therefore only named.
"""

import base64
import io

from ibpcl.experiments.blocks import Figure, Paragraph

PNG_START = b"\x89PNG\r\n\x1a\n"
# Upper limits for the bytes and pixels of a figure; those of this package have 2 million.
LARGEST = 20_000_000
PIXELS = 20_000_000
COLORS = 128  # colours of a figure whose size is reduced
# Pixels of CSS per pixel of a figure: at 150 dots per inch, text of 8 points has 12.5 pixels.
SHOWN = 0.75


def figures(pictures, most):
    """Return PNG files with their captions as blocks of a page.

    Parameters
    ----------
    pictures : list of (Path, Caption)
        The files; missing ones are skipped.
    most : int
        Upper limit for the size of all pictures, in bytes of base64. If they exceed it, they are
        reduced to fewer colours, and those that still do not fit are only named.

    Returns
    -------
    blocks : list of Figure or Paragraph
        One block per figure, and a sentence for each refused file.
    """
    readable = []
    blocks = []
    for path, caption in pictures:
        problem = refused(path)
        if problem is None:
            readable.append((path.name, caption, path.read_bytes()))
        elif problem:
            blocks.append(Paragraph(f"{path.name} is left out: it {problem}."))
    few = sum(len(data) for *_, data in readable) * 4 / 3 > most
    for name, (title, alt, sentence), data in readable:
        encoded = base64.b64encode(fewer_colors(data) if few else data).decode()
        fits = len(encoded) <= most
        most -= len(encoded) if fits else 0
        width = round(SHOWN * int.from_bytes(data[16:20], "big"))
        blocks.append(Figure(name, title, alt, sentence, encoded if fits else None, width))
    return blocks


def refused(path):
    """Return the reason for which a figure is not read.

    The picture is not decoded: its header has the size.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    reason : str or None
        The end of a sentence; None if the figure can be read; empty if the file does not exist.
    """
    if path.is_symlink():
        return "is a link"
    if not path.is_file():
        return ""
    if path.stat().st_size > LARGEST:
        return f"has more than {LARGEST // 10**6} MB"
    with open(path, "rb") as file:
        start = file.read(24)
    if start[:8] != PNG_START or start[12:16] != b"IHDR":
        return "is not a PNG file"
    width, height = (int.from_bytes(start[i : i + 4], "big") for i in (16, 20))
    return (
        f"has {width} x {height} pixels" if width * height > PIXELS or not width * height else None
    )


def fewer_colors(data):
    """Return a PNG with a palette, about a third of the size, without a visible loss for charts.

    Parameters
    ----------
    data : bytes
        A PNG file.

    Returns
    -------
    data : bytes
        A smaller PNG file; the same one if it is damaged.
    """
    from PIL import Image  # Matplotlib needs it for its own PNGs

    small = io.BytesIO()
    try:
        # Only the PNG decoder may read a file that may come from another person.
        with Image.open(io.BytesIO(data), formats=["PNG"]) as picture:
            picture.convert("RGB").quantize(COLORS).save(small, "PNG", optimize=True)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        # The file is damaged; the browser shows as much as it can.
        return data
    return small.getvalue()
