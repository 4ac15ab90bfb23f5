"""PNG files as figures inside a page, as far as there is room for them.

The folder may come from another person: a link, a file that is not PNG, and a picture that is too
large are only named.
"""

import base64
import io

from ibpcl.experiments.blocks import Figure, Paragraph

PNG_START = b"\x89PNG\r\n\x1a\n"
# bytes and pixels of a figure; ours have 2 million
LARGEST = 20_000_000
PIXELS = 20_000_000
COLORS = 128  # of a figure that must be made smaller


def figures(pictures, most):
    """Return PNG files with their captions as parts of a page.

    Parameters
    ----------
    pictures : list of (Path, Caption)
    most : int
        Bytes that there is room for.  Beyond it, figures have fewer colours, and then are only
        named.

    Returns
    -------
    blocks : list of Figure or Paragraph
    """
    found = []
    blocks = []
    for path, caption in pictures:
        problem = refused(path)
        if problem is None:
            found.append((path.name, caption, path.read_bytes()))
        elif problem:
            blocks.append(Paragraph(f"{path.name} is left out: it {problem}."))
    few = sum(len(data) for *_, data in found) * 4 / 3 > most
    for name, (title, alt, sentence), data in found:
        encoded = base64.b64encode(fewer_colors(data) if few else data).decode()
        fits = len(encoded) <= most
        most -= len(encoded) if fits else 0
        blocks.append(Figure(name, title, alt, sentence, encoded if fits else None))
    return blocks


def refused(path):
    """Return why a figure is not read, in words; None if it is, empty text if there is no such
    file.

    Nothing of the picture is decoded: its header says how large it is.
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
    """Return a PNG with a palette: a third of the bytes, for charts without a loss that shows."""
    from PIL import Image  # Matplotlib needs it for its own PNGs

    small = io.BytesIO()
    try:
        # a guess would let others decode it
        with Image.open(io.BytesIO(data), formats=["PNG"]) as picture:
            picture.convert("RGB").quantize(COLORS).save(small, "PNG", optimize=True)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        # damaged: the browser shows what it can
        return data
    return small.getvalue()
