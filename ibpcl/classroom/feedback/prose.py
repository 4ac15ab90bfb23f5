r"""Statements and derivations as HTML: a subset of Markdown, with formulas as MathML.

The subset has headings, paragraphs, lists, tables, fenced and inline code, emphasis, and formulas
between ``$``, ``$$``, ``\(``, ``\[`` or in the usual environments.  Everything else is shown
literally, including links and HTML, because the text may be a student's.
"""

import re
from html import escape

from ibpcl.classroom.feedback.mathml import to_mathml

MOST_CHARACTERS = 100_000  # of one text; the rest is cut, and the cut is shown
ENVIRONMENTS = r"align\*?|alignat\*?|equation\*?|gather\*?|eqnarray\*?|multline\*?|aligned"
OPENING = re.compile(
    r"(?P<fence>^[ ]{0,3}```[^\n]*\n)|(?P<tick>`)|(?P<dollars>\$\$)|(?P<bracket>\\\[)"
    r"|\\begin\{(?P<name>" + ENVIRONMENTS + r")\}|(?P<parenthesis>\\\()"
    r"|\\[\\$]|(?P<dollar>\$(?=[^\s$]))",
    re.MULTILINE,
)
CLOSING = {"fence": "\n```", "tick": "`", "dollars": "$$", "bracket": "\\]", "parenthesis": "\\)"}
MOST_INLINE = 600  # characters of a formula between single dollars, or of inline code
MARK = re.compile("\ue000(\\d+)\ue001")  # private use: in no text after cleaning
ITEM = re.compile(r"\s{0,6}(?:[-*+]|(?P<number>\d{1,3})[.)])\s+(?P<text>.*)")
HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*\s*")
RULE = re.compile(r"\s*\|?\s*:?-{2,}:?\s*(\|\s*:?-{2,}:?\s*)*\|?\s*")
LOST = {"\t": "t", "\f": "f", "\b": "b", "\r": "r", "\a": "a", "\v": "v"}
REMNANTS = (
    "heta|au|ilde|ext|imes|frac|rac|eta|ar|egin|oldsymbol|ig|ho|ight|lpha|pprox|arphi|"
    "arepsilon|ec|op|riangleq|anh|inom|orall"
)


def to_html(text, keep_lines=False):
    """Return a text as HTML.

    Parameters
    ----------
    text : str
        Markdown with formulas; may be a student's.
    keep_lines : bool
        Whether line breaks are preserved, as in a derivation in plain text.

    Returns
    -------
    str
        HTML that needs no further escaping.

    Examples
    --------
    >>> to_html("The *sum* of $x$.")
    '<p>The <em>sum</em> of <math><mrow><mi>x</mi></mrow></math>.</p>'
    """
    text = clean(text)
    cut = len(text) > MOST_CHARACTERS
    marked, pieces = _protected(text[:MOST_CHARACTERS])
    html = "\n".join(_blocks(marked.split("\n"), keep_lines))
    html = re.sub("<p>(\ue000\\d+\ue001)</p>", _block_or_paragraph(pieces), html)
    html = MARK.sub(lambda found: pieces[int(found[1])], html)
    return html + (
        "\n<p class='quiet'>The text is longer; the rest is left out.</p>" if cut else ""
    )


def clean(text):
    r"""Return a text without control characters, with broken LaTeX commands restored.

    In a string that is not raw, Python reads ``\t`` in ``\theta`` as a tab.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    str

    Examples
    --------
    >>> clean("\theta"), clean("a\x1bb")
    ('\\theta', 'ab')
    """
    text = re.sub("\r\n?(?![a-z])", "\n", text)
    text = re.sub(f"[\t\f\b\r\a\v](?={REMNANTS})", lambda found: "\\" + LOST[found[0]], text)
    text = re.sub("\n(?=abla\\b)", r"\\n", text).replace("\t", "    ")
    text = "".join(each for each in text if each == "\n" or each.isprintable())
    return re.sub("[\ue000\ue001]", "", text)


def _protected(text):
    """Return a text with placeholders for code and formulas, and the HTML of these.

    A mark that is opened and never closed stays text.  Each closing mark is searched for once, so
    the time is linear in the length of the text.
    """
    marked = []
    pieces = []
    absent = set()
    at = 0
    while found := OPENING.search(text, at):
        start = found.start()
        kind = found.lastgroup
        closing = f"\\end{{{found['name']}}}" if kind == "name" else CLOSING.get(kind, "")
        end = _inline_end(text, found) if kind in ("dollar", "tick") else -1
        if closing and kind != "tick" and closing not in absent:
            end = text.find(closing, found.end() - (kind == "fence"))
            absent |= {closing} if end < 0 else set()
        if end < 0:
            marked.append(text[at : found.end()])
            at = found.end()
            continue
        after = end + len(closing or "$")
        inside = text[start:after] if kind == "name" else text[found.end() : end]
        mark = f"\ue000{len(pieces)}\ue001"
        pieces.append(_piece(kind, inside))
        block = kind in ("fence", "dollars", "bracket", "name")
        marked += [text[at:start], f"\n\n{mark}\n\n" if block else mark]
        at = after
    return "".join([*marked, text[at:]]), pieces


def _inline_end(text, found):
    """Return the end of inline code or of a formula between single dollars, or -1."""
    closing = "`" if found.lastgroup == "tick" else "$"
    end = text.find(closing, found.end(), found.end() + MOST_INLINE)
    inside = text[found.end() : end]
    if end < 0 or not inside.strip() or "\n\n" in inside or "\ue000" in inside:
        return -1
    if closing == "$" and (inside[-1].isspace() or text[end + 1 : end + 2].isdigit()):
        return -1
    return end


def _piece(kind, inside):
    """Return code or a formula as HTML."""
    if kind == "fence":
        return f"<pre>{escape(inside)}</pre>"
    if kind == "tick":
        return f"<code>{escape(inside)}</code>"
    return to_mathml(inside, display=kind in ("dollars", "bracket", "name"))


def _block_or_paragraph(pieces):
    """Return a substitution for lines with a single placeholder, which become blocks."""

    def put(found):
        piece = pieces[int(found[1][1:-1])]
        if piece.startswith("<pre>"):
            return piece
        return (
            f"<div class='formula'>{piece}</div>"
            if 'display="block"' in piece
            else f"<p>{piece}</p>"
        )

    return put


def _blocks(lines, keep_lines):
    """Yield the HTML of each block of lines."""
    at = 0
    while at < len(lines):
        line = lines[at]
        heading = HEADING.fullmatch(line)
        if not line.strip():
            at += 1
        elif heading:
            level = min(6, len(heading[1]) + 2)
            yield f"<h{level}>{_inline(heading[2])}</h{level}>"
            at += 1
        elif "|" in line and at + 1 < len(lines) and RULE.fullmatch(lines[at + 1]):
            end = _end(lines, at, lambda each: "|" in each)
            yield _table(lines[at:end])
            at = end
        elif ITEM.fullmatch(line):
            end = _end(lines, at, str.strip)
            yield _list(lines[at:end])
            at = end
        else:
            end = _end(
                lines,
                at,
                lambda each: (
                    each.strip() and not HEADING.fullmatch(each) and not ITEM.fullmatch(each)
                ),
            )
            joined = [_inline(each.strip()) for each in lines[at:end]]
            yield f"<p>{('<br>' if keep_lines else ' ').join(joined)}</p>"
            at = end


def _end(lines, start, belongs):
    """Return the index of the first line after ``start`` that does not belong to the block."""
    end = start + 1
    while end < len(lines) and belongs(lines[end]):
        end += 1
    return end


def _list(lines):
    """Return list items; a line without a bullet continues the item above it."""
    items = []
    first = ITEM.fullmatch(lines[0])["number"]
    for line in lines:
        item = ITEM.fullmatch(line)
        if item:
            items.append(item["text"])
        else:
            items[-1] += " " + line.strip()
    listed = "".join(f"<li>{_inline(item)}</li>" for item in items)
    return f'<ol start="{int(first)}">{listed}</ol>' if first else f"<ul>{listed}</ul>"


def _table(lines):
    """Return a table; its second line is the rule below the header."""
    rows = [
        [_inline(cell.strip()) for cell in line.strip().strip("|").split("|")]
        for line in (lines[0], *lines[2:])
    ]
    head = "".join(f"<th>{cell}</th>" for cell in rows[0])
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows[1:])
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _inline(text):
    """Return escaped text with emphasis."""
    text = escape(text, quote=False)
    text = re.sub(r"\*\*(?=\S)([^*\n]{1,500}?)(?<=\S)\*\*", r"<strong>\1</strong>", text)
    return re.sub(
        r"(?<![\w*])\*(?=[^\s*])([^*\n]{1,500}?)(?<=[^\s*])\*(?![\w*])", r"<em>\1</em>", text
    )
