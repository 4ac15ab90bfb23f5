r"""LaTeX formulas as MathML, which browsers display without a script or a network.

The formulas come from the statements and from students' derivations.  A student's text must not be
trusted, so everything is escaped, nothing becomes a link, and length and depth are bounded.  The
libraries that were tried do not escape ``<`` inside ``\text{}``, turn ``\href`` into a link, and do
not support ``aligned``.

An unknown command is shown as text; a formula that cannot be parsed is shown as its source.
"""

import re
from html import escape

from ibpcl.classroom.feedback.mathml_symbols import (
    ACCENTS,
    ALIGNED,
    BIG,
    FENCES,
    FONTS,
    FUNCTIONS,
    INTEGRALS,
    LETTERS,
    LIMITS,
    MATRICES,
    OPERATORS,
    SPACES,
    alphabet,
)

TOKEN = re.compile(r"\\(?:[A-Za-z]+\*?|.)|\d+(?:\.\d+)?|\s+|.", re.DOTALL)
MOST_CHARACTERS = 5000  # of one formula
MOST_DEPTH = 40  # of groups within groups
SIZES = {"big": "1.2em", "Big": "1.6em", "bigg": "2.1em", "Bigg": "2.6em"}
IGNORED = {
    "displaystyle",
    "textstyle",
    "scriptstyle",
    "limits",
    "nolimits",
    "nonumber",
    "notag",
    "hfill",
    "noindent",
    "par",
    "centering",
    "bf",
    "rm",
    "it",
    "mathstrut",
    "strut",
}
DROPPED = {"label", "vspace", "hspace", "color", "phantom", "vphantom", "hphantom", "href"}
WRAPPERS = {
    "mathop",
    "mathrel",
    "mathbin",
    "mathord",
    "mathop*",
    "boxed",
    "cancel",
    "smash",
    "ensuremath",
    "textstyle",
    "underline",
}


class FormulaError(ValueError):
    """A formula that cannot be parsed."""


def to_mathml(formula, display=False):
    r"""Return a formula as MathML, or as escaped text where it cannot be parsed.

    Parameters
    ----------
    formula : str
        LaTeX without the dollars around it.
    display : bool
        Whether the formula is displayed on a separate line.

    Returns
    -------
    str
        HTML that needs no further escaping.

    Examples
    --------
    >>> to_mathml(r"\mu^2")
    '<math><mrow><msup><mi>μ</mi><mn>2</mn></msup></mrow></math>'
    """
    try:
        if len(formula) > MOST_CHARACTERS:
            raise FormulaError("too long")
        body = _Parser(formula).whole()
    except (FormulaError, RecursionError):
        return f'<code class="tex">{escape(formula.strip())}</code>'
    return f'<math display="block">{body}</math>' if display else f"<math>{body}</math>"


class _Parser:
    """A parser by recursive descent over the tokens of one formula."""

    def __init__(self, formula):
        self.tokens = TOKEN.findall(re.sub(r"(?<!\\)%.*", "", formula))
        self.at = 0
        self.depth = 0

    def whole(self):
        """Return the rows of the whole formula; several rows make a table."""
        body = self.rows(None)
        if self.at < len(self.tokens):
            raise FormulaError("a bracket is closed that is not open")
        return body

    def peek(self):
        """Return the next token without blanks, or an empty string at the end."""
        while self.at < len(self.tokens) and self.tokens[self.at].isspace():
            self.at += 1
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self):
        """Return the next token and step over it."""
        token = self.peek()
        self.at += 1
        return token

    def rows(self, end):
        r"""Parse cells and rows up to ``\end`` or the end; a single cell is a row with one cell."""
        table = [[self.row({"&", "\\\\", "\\cr", "\\end"})]]
        while (token := self.peek()) in ("&", "\\\\", "\\cr"):
            self.take()
            if token == "&":
                table[-1].append(self.row({"&", "\\\\", "\\cr", "\\end"}))
            else:
                self.option()
                table.append([self.row({"&", "\\\\", "\\cr", "\\end"})])
        if end is None and len(table) == 1 and len(table[0]) == 1:
            return f"<mrow>{table[0][0]}</mrow>"
        if not any(table[-1]):
            table.pop()
        return _table(table)

    def row(self, ends):
        """Parse one sequence up to one of the tokens, which is left in place."""
        self.depth += 1
        if self.depth > MOST_DEPTH:
            raise FormulaError("too deep")
        pieces = []
        while (token := self.peek()) and token not in ends and token != "}":
            pieces.append(self.scripted())
        self.depth -= 1
        return "".join(pieces)

    def scripted(self):
        """Parse one item with the scripts that follow it."""
        base, beside = self.item()
        below = above = ""
        primes = 0
        while (token := self.peek()) in ("^", "_", "'", "\\limits", "\\nolimits"):
            self.take()
            if token == "'":
                primes += 1
            elif token == "^":
                above += self.argument()
            elif token == "_":
                below += self.argument()
        if primes:
            above = f"<mo>{'′' * primes}</mo>" + above
        return _scripts(base, _grouped(below), _grouped(above), beside)

    def argument(self):
        """Parse one argument: a group, or a single item."""
        if self.peek() == "{":
            return self.group()
        token = self.peek()
        if token in ("", "}", "&", "^", "_"):
            raise FormulaError("an argument is missing")
        if token[0].isdigit() and len(token) > 1:  # \frac12 has the arguments 1 and 2
            self.tokens[self.at] = token[1:]
            return f"<mn>{token[0]}</mn>"
        return self.item()[0]

    def group(self):
        """Parse a group in braces."""
        self.take()
        body = self.row(set())
        if self.take() != "}":
            raise FormulaError("a brace is not closed")
        return f"<mrow>{body}</mrow>"

    def raw(self):
        """Return the source of an argument, for words within a formula."""
        if self.peek() != "{":
            return self.take()
        self.take()
        depth = 1
        words = []
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            self.at += 1
            depth += (token == "{") - (token == "}")
            if depth == 0:
                return "".join(words)
            words.append(token)
        raise FormulaError("a brace is not closed")

    def option(self):
        """Return an optional argument in brackets, empty if there is none."""
        if self.peek() != "[":
            return ""
        self.take()
        body = self.row({"]"})
        if self.take() != "]":
            raise FormulaError("a bracket is not closed")
        return body

    def item(self):
        """Parse one item; return it, and where its scripts stand: "beside", "around" or "under"."""
        token = self.take()
        if token == "{":
            self.at -= 1
            return self.group(), "beside"
        if token.startswith("\\") and len(token) > 1:
            return self.command(token[1:])
        if token[0].isdigit():
            return f"<mn>{token}</mn>", "beside"
        if token.isalpha():
            return f"<mi>{escape(token)}</mi>", "beside"
        if token in ("^", "_"):
            self.at -= 1
            return "<mrow></mrow>", "beside"
        if token == "~":
            return '<mspace width="0.25em"/>', "beside"
        if token in "()[]|":
            return f'<mo stretchy="false">{token}</mo>', "beside"
        return f"<mo>{'−' if token == '-' else escape(token)}</mo>", "beside"

    def command(self, name):
        """Parse a command and its arguments."""
        for table, tag in ((LETTERS, "mi"), (OPERATORS, "mo")):
            if name in table:
                return f"<{tag}>{escape(table[name])}</{tag}>", "beside"
        if name in BIG:
            return f"<mo>{BIG[name]}</mo>", "under"
        if name in INTEGRALS:
            return f"<mo>{INTEGRALS[name]}</mo>", "beside"
        if name in FENCES:
            return f'<mo stretchy="false">{FENCES[name]}</mo>', "beside"
        if name in FUNCTIONS or name in LIMITS:
            gap = '<mspace width="0.17em"/>' if self.peek() not in ("(", "^", "_", "\\left") else ""
            return f"<mi>{name}</mi>{gap}", "under" if name in LIMITS else "beside"
        if name in SPACES:
            return f'<mspace width="{SPACES[name]}"/>', "beside"
        if name in ACCENTS:
            return _over(self.argument(), f"<mo>{escape(ACCENTS[name])}</mo>"), "beside"
        if name in FONTS:
            return self.font(FONTS[name]), "beside"
        return self.structure(name)

    def structure(self, name):
        """Parse a fraction, root, fence, environment or the like."""
        if name in ("frac", "tfrac", "dfrac", "cfrac"):
            return f"<mfrac>{self.argument()}{self.argument()}</mfrac>", "beside"
        if name in ("binom", "tbinom", "dbinom"):
            inside = f'<mfrac linethickness="0">{self.argument()}{self.argument()}</mfrac>'
            return f"<mrow><mo>(</mo>{inside}<mo>)</mo></mrow>", "beside"
        if name == "sqrt":
            index = self.option()
            body = self.argument()
            return (
                f"<mroot>{body}{_grouped(index)}</mroot>" if index else f"<msqrt>{body}</msqrt>"
            ), "beside"
        if name in ("underbrace", "overbrace"):
            body = self.argument()
            brace = "<mo>⏟</mo>" if name == "underbrace" else "<mo>⏞</mo>"
            return (_under(body, brace) if name == "underbrace" else _over(body, brace)), "around"
        if name in ("overset", "stackrel", "underset"):
            extra = self.argument()
            body = self.argument()
            return (_under(body, extra) if name == "underset" else _over(body, extra)), "beside"
        if name == "left":
            return self.fenced(), "beside"
        if name == "begin":
            return self.environment(), "beside"
        if name.rstrip("lrm") in SIZES:
            size = SIZES[name.rstrip("lrm")]
            return f'<mo minsize="{size}" maxsize="{size}">{self.fence()}</mo>', "beside"
        if name == "middle":
            return f'<mo fence="true" stretchy="true">{self.fence()}</mo>', "beside"
        if name == "not":
            return re.sub(r"(</m[io]>)", "\u0338\\1", self.item()[0], count=1), "beside"
        if name == "substack":
            lines = re.split(r"\\\\", self.raw())
            return _table([[_Parser(line).whole()] for line in lines]), "beside"
        if name == "tag":
            return f"<mtext>({escape(self.raw())})</mtext>", "beside"
        if name in WRAPPERS:
            return self.argument(), "beside"
        if name in IGNORED:
            return "", "beside"
        if name in DROPPED:
            self.raw()
            return "", "beside"
        if name in ("end", "right", "\\", "cr"):
            raise FormulaError(f"{name} without its beginning")
        return f"<mtext>\\{escape(name)}</mtext>", "beside"

    def font(self, font):
        """Parse the argument of a font."""
        words = self.raw() if font in ("text", "code", "name") else ""
        if font == "text":
            return f"<mtext>{escape(_spaced(words))}</mtext>"
        if font == "code":
            return f'<mtext class="code">{escape(_spaced(words))}</mtext>'
        if font == "name":
            return f"<mi>{escape(words.strip())}</mi>"
        body = self.argument()
        if font == "upright":
            letters = "".join(re.findall(r"<mi>([A-Za-z])</mi>", body))
            if letters and re.fullmatch(r"(<mrow>)?(<mi>[A-Za-z]</mi>)+(</mrow>)?", body):
                return f'<mi mathvariant="normal">{letters}</mi>'
            return re.sub(r"<mi>([A-Za-z])</mi>", r'<mi mathvariant="normal">\1</mi>', body)
        if not font:
            return body
        return re.sub(
            r"<(m[in])>([^<]+)</m[in]>",
            lambda found: f"<{found[1]}>{alphabet(found[2], font)}</{found[1]}>",
            body,
        )

    def fence(self):
        """Return the character of the next fence; a point is an invisible one."""
        token = self.take()
        if token.startswith("\\"):
            return escape(FENCES.get(token[1:], "") or OPERATORS.get(token[1:], ""))
        return "" if token == "." else escape(token)

    def fenced(self):
        r"""Parse the content between ``\left`` and ``\right``."""
        opening = self.fence()
        body = self.row({"\\right"})
        if self.take() != "\\right":
            raise FormulaError("\\left without \\right")
        closing = self.fence()
        return f'<mrow><mo fence="true">{opening}</mo>{body}<mo fence="true">{closing}</mo></mrow>'

    def environment(self):
        r"""Parse the content between ``\begin`` and ``\end``."""
        name = self.raw()
        if name == "array" or name.startswith("alignat"):
            self.raw()
        if name not in MATRICES and name not in ALIGNED:
            raise FormulaError(f"the environment {name} is not known")
        body = self.rows(name)
        if self.take() != "\\end" or self.raw() != name:
            raise FormulaError(f"the environment {name} is not closed")
        opening, closing = MATRICES.get(name, ("", ""))
        if name in ALIGNED:
            return body.replace("<mtable>", '<mtable class="aligned" displaystyle="true">', 1)
        body = body.replace("<mtable>", '<mtable class="cases">', 1) if name == "cases" else body
        left = f'<mo fence="true">{opening}</mo>' if opening else ""
        right = f'<mo fence="true">{closing}</mo>' if closing else ""
        return f"<mrow>{left}{body}{right}</mrow>"


def _table(rows):
    """Return the cells of rows as a table."""
    lines = ("".join(f"<mtd>{cell}</mtd>" for cell in row) for row in rows)
    return f"<mtable>{''.join(f'<mtr>{line}</mtr>' for line in lines)}</mtable>"


def _scripts(base, below, above, place):
    """Return an item with its scripts."""
    tags = ("msub", "msup", "msubsup") if place == "beside" else ("munder", "mover", "munderover")
    if below and above:
        return f"<{tags[2]}>{_grouped(base)}{below}{above}</{tags[2]}>"
    if below:
        return f"<{tags[0]}>{_grouped(base)}{below}</{tags[0]}>"
    if above:
        return f"<{tags[1]}>{_grouped(base)}{above}</{tags[1]}>"
    return base


def _grouped(body):
    """Return MathML as exactly one element; an empty text stays empty."""
    single = re.fullmatch(r"<(m\w+)[^>]*>[^<]*</\1>", body)
    if not body or single or (body.startswith("<mrow>") and body.count("<mrow>") == 1):
        return body
    return f"<mrow>{body}</mrow>"


def _over(body, above):
    return f'<mover accent="true">{_grouped(body)}{above}</mover>'


def _under(body, below):
    return f"<munder>{_grouped(body)}{below}</munder>"


def _spaced(words):
    """Return words with non-breaking spaces at their ends, because MathML drops plain ones."""
    head = "\u00a0" if words[:1].isspace() else ""
    tail = "\u00a0" if words[-1:].isspace() else ""
    return f"{head}{re.sub(r'[$]', '', words).strip()}{tail}"
