"""Decoding of programs: by byte order mark or coding line as in Python, else as UTF-16 or
Windows-1252.
"""

import codecs
import re

MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
CODING = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")


class NotText(ValueError):
    """Bytes that are not a text; the message gives the reason."""


def decoded(data):
    """Return the text of a Python file or notebook, and a note on its encoding.

    Parameters
    ----------
    data : bytes
        Content of the file.

    Returns
    -------
    text : str
    note : str
        Empty if the encoding is UTF-8.

    Raises
    ------
    NotText
        If the bytes are not a text in any of these encodings.
    """
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return _as(data, encoding), ""
    encoding = _coding_line(data)
    if encoding is not None:
        return _as(data, encoding), ""
    if b"\0" in data[:4096]:
        return _wide(data), "the file is saved as UTF-16: Python itself reads UTF-8 only"
    try:
        return data.decode("utf-8"), ""
    except UnicodeDecodeError as error:
        text = data.decode("cp1252", errors="replace")
        if "\ufffd" in text or not _plausible(text):
            raise NotText(f"byte {error.start} is not UTF-8; save the file as UTF-8") from None
        line = data[: error.start].count(b"\n") + 1
        return (
            text,
            (
                f"line {line} is not UTF-8 and was read as Windows-1252: Python itself reads UTF-8 "
                "only"
            ),
        )


def with_plain_lines(text):
    """Return a text with ``\\n`` at the end of every line, and without DOS's end-of-file mark.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    str
    """
    return text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\x1a")


def clean(text):
    """Return a text that can be encoded.

    Surrogate pairs are joined, and lone surrogates become U+FFFD.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    str

    Examples
    --------
    >>> clean("\\ud835\\udc00") == "\\U0001d400", clean("a\\ud800") == "a\\ufffd"
    (True, True)
    """
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _coding_line(data):
    """Return the encoding named in one of the first two lines, or None."""
    first, _, rest = data.partition(b"\n")
    second = rest.partition(b"\n")[0]
    lines = [first] if first.strip() and not first.lstrip().startswith(b"#") else [first, second]
    for line in lines:
        match = CODING.match(line)
        if match:
            name = match[1].decode("ascii", "replace")
            try:
                codecs.lookup(name)
            except LookupError:
                raise NotText(
                    f"its coding line names {name[:40]}, which is not an encoding"
                ) from None
            return None if codecs.lookup(name).name == "utf-8" else name
    return None


def _as(data, encoding):
    try:
        text = data.decode(encoding)
    except (UnicodeError, LookupError, AssertionError, TypeError, ValueError) as error:
        raise NotText(f"it is not {encoding}: {error}") from None
    if not isinstance(text, str):
        raise NotText(f"{encoding} is not an encoding of text")
    return text


def _wide(data):
    """Return the text of UTF-16 without a byte order mark."""
    start = data[:4096]
    first = start[0::2].count(0)
    second = start[1::2].count(0)
    if min(first, second) * 8 > max(first, second) or max(first, second) * 4 < len(start):
        raise NotText("it has null bytes: it is not a text")
    text = _as(data, "utf-16-le" if second > first else "utf-16-be")
    if not _plausible(text):
        raise NotText("it has null bytes: it is not a text")
    return text


def _plausible(text):
    """Return whether a text looks like one: hardly any control characters."""
    controls = sum(each < " " and each not in "\t\n\r\f\x1a" for each in text[:20000])
    return controls == 0
