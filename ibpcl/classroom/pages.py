"""Parts of the HTML pages: one style, escaping, tables, and hints of the level that the teacher allows."""

from html import escape

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 56rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h1 { font-size: 1.6rem; }
h2 { font-size: 1.15rem; margin: 2rem 0 .3rem; border-top: 1px solid #ddd; padding-top: 1rem; }
table { border-collapse: collapse; margin: .6rem 0; } th, td { text-align: left; padding: .25rem .8rem .25rem 0;
vertical-align: top; border-bottom: 1px solid #eee; } td.number { text-align: right; }
.right { color: #19703a; } .wrong, .raises, .missing { color: #a61b1b; } .partial { color: #8a5a00; }
.quiet { color: #666; } .hint { background: #f5f3ea; padding: .5rem .8rem; border-left: 3px solid #c9b458; }
svg { margin-right: 1rem; max-width: 100%; } details { margin: .5rem 0; } pre { white-space: pre-wrap; }
@media (prefers-color-scheme: dark) { body { background: #1b1b1b; color: #ddd; } .hint { background: #2a2820; }
svg { background: #fff; } }
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(title, body):
    """Return a page of its own: no script, nothing from outside."""
    return (f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" '
            f'content="{POLICY}"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
            f"<style>{STYLE}</style></head><body>\n{body}\n</body></html>\n")


def table(head, rows):
    """Return a table; cells are escaped, numbers to the right."""
    top = "".join(f"<th>{escape(str(cell))}</th>" for cell in head)
    body = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>\n" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>\n{body}</tbody></table>"


def points(value):
    """Return points as text, without trailing zeros.

    >>> points(7.0), points(6.25), points(None)
    ('7', '6.25', 'not graded')
    """
    return "not graded" if value is None else f"{value:g}"


def _cell(value):
    if isinstance(value, (int, float)):
        return f'<td class="number">{value:g}</td>'
    if isinstance(value, Raw):
        return f"<td>{value}</td>"
    return f"<td>{escape(str(value))}</td>"


class Raw(str):
    """HTML that is not escaped again."""
