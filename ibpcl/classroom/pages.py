"""Parts of the HTML pages: one style, escaping, tables and numbers."""

import re
from html import escape

STYLE = """
:root { --ink: #1f2328; --quiet: #626b75; --line: #e2e5e9; --back: #ffffff; --soft: #f6f7f9;
--right: #1a7f37; --wrong: #b42318; --partial: #8a5a00; --link: #0b5cad; --mark: #fff3c4;
--hint: #fbf8ec; --hint-line: #d9c05a; }
@media (prefers-color-scheme: dark) { :root { --ink: #dfe3e8; --quiet: #9aa4af; --line: #343a41;
--back: #16191d; --soft: #1f2429; --right: #56c271; --wrong: #ff8f82; --partial: #e0b354;
--link: #7ab7ff; --mark: #4a3f14; --hint: #25231a; --hint-line: #85752f; } }
* { box-sizing: border-box; }
body { font: 16px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; color: var(--ink);
background: var(--back); max-width: 58rem; margin: 0 auto; padding: 1.5rem 1.1rem 4rem; }
h1 { font-size: 1.55rem; line-height: 1.25; margin: .4rem 0; }
h2 { font-size: 1.15rem; margin: 2.4rem 0 .6rem; } h3 { font-size: 1rem; margin: 1.2rem 0 .4rem; }
h4, h5, h6 { font-size: .95rem; margin: 1rem 0 .3rem; }
a { color: var(--link); } p { margin: .5rem 0; } ul, ol { margin: .4rem 0; padding-left: 1.4rem; }
.quiet { color: var(--quiet); font-size: .9rem; } .nowrap { white-space: nowrap; }
.right { color: var(--right); } .wrong, .raises, .missing { color: var(--wrong); }
.partial { color: var(--partial); } .not-judged, .by-hand, .given-by-hand { color: var(--quiet); }
code, pre, .code { font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
code { font-size: .92em; background: var(--soft); padding: .05em .3em; border-radius: 4px;
overflow-wrap: anywhere; } code.tex { white-space: pre-wrap; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: var(--soft); padding: .7rem .9rem;
border-radius: 8px; font-size: .86rem; margin: .5rem 0; }
.wide { overflow-x: auto; margin: .5rem 0; max-width: 100%; }
table { border-collapse: collapse; } th, td { text-align: left; padding: .35rem 1.1rem .35rem 0;
vertical-align: top; border-bottom: 1px solid var(--line); } th { font-weight: 600;
font-size: .86rem; color: var(--quiet); } th.number, td.number { text-align: right;
font-variant-numeric: tabular-nums; } td.long { min-width: 14rem; }
tbody tr:target { background: var(--mark); } :target { scroll-margin-top: 1rem; }
.hint { background: var(--hint); padding: .5rem .8rem; border-left: 3px solid var(--hint-line);
border-radius: 0 6px 6px 0; }
.comment { background: var(--soft); padding: .5rem .8rem; border-left: 3px solid var(--link);
border-radius: 0 6px 6px 0; white-space: pre-line; }
details { margin: .6rem 0; } summary { cursor: pointer; color: var(--link); width: fit-content; }
.formula { overflow-x: auto; overflow-y: hidden; margin: .6rem 0; padding: .2rem 0; }
math { font-size: 1.08em; } mtable.aligned mtd { text-align: left; padding: .25em .1em; }
mtable.aligned mtd:first-child { text-align: right; } mtable.cases mtd { text-align: left;
padding: .15em .5em; }
mtext.code { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: .92em; }
svg { max-width: 100%; height: auto; background: #fff; border-radius: 6px; }
.figures { display: flex; flex-wrap: wrap; gap: .4rem 1rem; }
@media (max-width: 40rem) { body { padding: .8rem .8rem 3rem; font-size: 15px; }
th, td { padding-right: .7rem; } }
@media print { details { display: block; } body { max-width: none; } }
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(title, body, style="", script="", policy=POLICY):
    """Return a self-contained page.

    Parameters
    ----------
    title : str
        Is escaped.
    body : str
        HTML.
    style, script : str
        More CSS, and HTML that ends the body.
    policy : str
        The content security policy; without a script of the page's own, none may run.

    Returns
    -------
    str
        Text that can be encoded: half characters are replaced.
    """
    text = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}{style}</style></head><body>\n{body}\n"
        f"{script}"
        "</body></html>\n"
    )
    return (
        re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", "\ufffd", text)
        .encode("utf-8", "replace")
        .decode("utf-8")
    )


def table(head, rows, ids=None):
    """Return a table that scrolls where the screen is narrow; columns of numbers stand to the
    right.

    Parameters
    ----------
    head : sequence of str
    rows : sequence of sequence
        Cells are escaped, except :class:`Raw`.
    ids : sequence of str, optional
        An anchor for each row.
    """
    rows = [list(row) for row in rows]
    numeric = (
        [
            any(map(_is_number, column))
            and all(_is_number(cell) or cell in ("", "–") for cell in column)
            for column in zip(*rows, strict=True)
        ]
        if rows
        else [False] * len(head)
    )
    top = "".join(
        f"<th{_class(right)}>{escape(str(cell))}</th>"
        for cell, right in zip(head, numeric, strict=True)
    )
    body = ""
    for at, row in enumerate(rows):
        anchor = f' id="{escape(ids[at], quote=True)}"' if ids else ""
        cells = "".join(_cell(cell, right) for cell, right in zip(row, numeric, strict=True))
        body += f"<tr{anchor}>{cells}</tr>\n"
    return (
        f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>\n{body}'
        "</tbody></table></div>"
    )


def points(value):
    """Return points as text, without trailing zeros.

    >>> points(7.0), points(6.25), points(None)
    ('7', '6.25', 'not graded')
    """
    return "not graded" if value is None else f"{value:g}"


def anchor(text):
    """Return a text as the name of a place in a page.

    >>> anchor("o'brien 7")
    'o-27brien-207'
    """
    return re.sub(r"[^A-Za-z0-9_]", lambda found: f"-{ord(found[0]):x}", text)


def _is_number(cell):
    return isinstance(cell, (int, float)) and not isinstance(cell, bool)


def _class(right):
    return ' class="number"' if right else ""


def _cell(value, right):
    if _is_number(value):
        return f'<td class="number">{value:g}</td>'
    if isinstance(value, Raw):
        return f"<td{_class(right)}>{value}</td>"
    text = str(value)
    kind = ' class="long"' if len(text) > 60 else _class(right)
    return f"<td{kind}>{escape(text)}</td>"


class Raw(str):
    """HTML that is not escaped again."""
