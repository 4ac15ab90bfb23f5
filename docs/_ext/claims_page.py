"""The page "The paper, claim by claim", written from the package's table and the records.

The numbers of NPBCL are read from ``docs/results`` when the page is written.
"""

import re
from functools import cache
from itertools import takewhile

import records

from ibpcl.experiments import tables
from ibpcl.paper.claim import PARTS, TERMS, VERDICTS
from ibpcl.paper.claims_table import CLAIMS
from ibpcl.paper.equation import STATUSES
from ibpcl.paper.equations import EQUATIONS
from ibpcl.paper.headlines import HEADLINES
from ibpcl.paper.reproduce import TARGETS

MARK = re.compile(r"\[\[([\w-]+) \| ([^|]+) \| ([^|]+) \| ([^|\]]+)\]\]( (?:percent|points|nats))?")
HEADING = re.compile(r"(#+) (.*)")
# Records whose names do not begin with that of their target.
OTHER_TARGETS = {"transfer": "accuracy", "fashion-resplit": "accuracy"}
# Headings of the parts, and the width of the columns in percent.
HEADINGS = {"tables and figures": "Tables and figures", "claims": "Claims in the text"}
WIDTHS = (27, 40, 13, 20)


def entries(mark, lines):
    """Return the entries that a mark names, in its order.

    Parameters
    ----------
    mark : re.Match
        A match of :data:`MARK`.
    lines : dict
        Maps the name of a record to its lines.

    Returns
    -------
    entries : list of Entry

    Raises
    ------
    ValueError
        If the record has no such entry.
    """
    record, title, rows, columns, _ = mark.groups()
    found = []
    for row in rows.split("; "):
        for column in columns.split("; "):
            place = (title, row, column)
            values = [line[3:] for line in lines[record] if line[:3] == place]
            if not values:
                raise ValueError(f"claims_page.entries: {record}.csv has no entry {place}")
            unit = records.UNITS[values[0][0]]
            found.append(tables.Entry(row, column, tuple(value for _, value in values), unit))
    return found


def filled(text, lines):
    """Return a text in which the marks are replaced by the numbers of the records.

    Parameters
    ----------
    text : str
    lines : dict
        Maps the name of a record to its lines.

    Returns
    -------
    text : str
        Each mark is replaced by its numbers. Their number of seeds follows in parentheses, after
        the unit if there is one.
    """

    def numbers(mark):
        found = entries(mark, lines)
        counts = {len(each.values) for each in found}
        values = [records.cell(each, mixed=len(counts) > 1) for each in found]
        seeds = records.seeds(counts)
        return f"{', '.join(values)}{mark[5] or ''} ({seeds})"

    return MARK.sub(numbers, text)


def named_records(text):
    """Return the names of the records in the marks of a text, each once."""
    return tuple(dict.fromkeys(mark[1] for mark in MARK.finditer(text)))


def has_one_seed(text, lines):
    """Return whether a number of the text rests on one seed."""
    return any(
        len(entry.values) == 1 for mark in MARK.finditer(text) for entry in entries(mark, lines)
    )


def read_records():
    """Return the lines of every record that the table names, by record."""
    texts = [claim.ours for claim in CLAIMS] + [headline.words for headline in HEADLINES]
    names = dict.fromkeys(name for text in texts for name in named_records(text))
    return {name: records.read(name) for name in names}


def list_table(rows, widths):
    """Return a table of MyST Markdown whose first row is the header."""
    lines = [
        "```{list-table}",
        # In site.css: commands may wrap, and on a phone each row is a card.
        ":class: cards",
        ":header-rows: 1",
        f":widths: {' '.join(map(str, widths))}",
        "",
    ]
    for row in rows:
        lines += [f"{'*' if i == 0 else ' '} - {cell}" for i, cell in enumerate(row)]
    return "\n".join([*lines, "```"])


def sections(text):
    """Return the sections of a page; a line of a code block is not a heading.

    Parameters
    ----------
    text : str
        The page in Markdown.

    Returns
    -------
    sections : list of (tuple of str, str)
        For each heading, the titles from that of the page down to its own, and the text between
        it and the next heading.
    """
    titles, found, fenced = [], [], False
    for line in text.splitlines():
        fenced ^= line.startswith("```")
        heading = None if fenced else HEADING.fullmatch(line)
        if heading:
            titles = [*titles[: len(heading[1]) - 1], heading[2]]
            found.append((tuple(titles), []))
        elif found:
            found[-1][1].append(line)
    return [(titles, "\n".join(lines)) for titles, lines in found]


def anchor(title):
    """Return the anchor of a heading, as the site writes it.

    Parameters
    ----------
    title : str
        The heading, without number signs.

    Returns
    -------
    anchor : str
        Lower case, with hyphens between the words.
    """
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def target(name):
    """Return the target of ``ibpcl reproduce`` that writes a record.

    Parameters
    ----------
    name : str
        Name of the record, such as ``masks-alpha-10``, which the target ``masks`` writes.

    Returns
    -------
    target : str
        The longest name of a target with which the record's name begins; without one, the
        record's name.
    """
    if name in OTHER_TARGETS:
        return OTHER_TARGETS[name]
    beginnings = (known for known in TARGETS if f"{name}-".startswith(f"{known}-"))
    return max(beginnings, key=len, default=name)


@cache
def commands(name):
    """Return the section that shows the commands behind a record.

    Parameters
    ----------
    name : str
        Name of the record.

    Returns
    -------
    place : str
        ``/page.md#anchor``: the smallest section around all that link the record beside a command
        with its target, or around all that link it, if the command is elsewhere in that section.

    Raises
    ------
    ValueError
        If no page has such a section.
    """
    command = re.compile(rf"^ *ibpcl reproduce {target(name)}\s", re.MULTILINE)
    for page in sorted(records.DOCS.glob("*.md")):
        found = sections(page.read_text(encoding="utf-8"))
        linked = [each for each in found if f"(results/{name}.csv)" in each[1]]
        beside = [each for each in linked if command.search(each[1])] or linked
        levels = zip(*(titles for titles, _ in beside), strict=False)
        around = tuple(level[0] for level in takewhile(lambda level: len(set(level)) == 1, levels))
        within = [text for titles, text in found if titles[: len(around)] == around]
        # the first title is that of the page
        if len(around) > 1 and any(map(command.search, within)):
            return f"/{page.name}#{anchor(around[-1])}"
    raise ValueError(f"claims_page.commands: no section links {name}.csv beside its command")


def links(name, *more):
    """Return the links to a record and to its commands.

    Parameters
    ----------
    name : str
        Name of the record.
    *more : str
        Further links beside that to the commands.

    Returns
    -------
    text : str
        Links in Markdown.
    """
    beside = ", ".join([f"[commands]({commands(name)})", *more])
    return f"[{name}.csv](../results/{name}.csv) ({beside})"


def record(name):
    """Return the links to a record and its commands, marked if it has unequal terms."""
    unequal = TERMS[name].kind == "unequal"
    return links(name, "[unequal terms](#terms)") if unequal else links(name)


def findings(lines):
    """Return the main findings, each with its numbers, its records and its terms."""
    found = []
    for headline in HEADLINES:
        names = named_records(headline.words)
        terms = dict.fromkeys(f"{TERMS[name].kind}: {TERMS[name].words}" for name in names)
        found.append(
            f"- **{headline.finding}** {filled(headline.words, lines)} Record: "
            f"{', '.join(map(links, names))}. Terms: {'; '.join(terms)}."
        )
    return "\n".join(found)


def terms():
    """Return the table of the terms of every record with more than one method."""
    rows = [("Terms", "Record", "What differs")]
    rows += [
        (each.kind, f"[{name}.csv](../results/{name}.csv)", f"{each.words}.")
        for name, each in TERMS.items()
        if each.kind != "one method"
    ]
    return list_table(rows, (12, 22, 66))


def source(claim):
    """Return the cell that names the command, the records, the tests and the section."""
    parts = []
    if claim.command:
        parts.append(f"`{claim.command}`")
    parts += [record(name) for name in named_records(claim.ours)]
    for path in claim.evidence:
        name = path.rpartition("/")[2]
        # Tests have no page on the site.
        parts.append(f"`{path}`" if path.startswith("tests/") else f"[{name}](../figures/{name})")
    if claim.page:
        parts.append(f"[details](/{claim.page})")
    return ", ".join(parts) or "none"


def claim_row(claim, lines):
    """Return the cells of a claim."""
    measured = claim.verdict.startswith(("reproduced", "not reproduced"))
    seeds = " (1 seed)" if measured and has_one_seed(claim.ours, lines) else ""
    return (
        f"**{claim.label}.** {claim.printed}",
        filled(claim.ours, lines),
        f"{claim.verdict}{seeds}",
        source(claim),
    )


def summary():
    """Return the table of counts by verdict, for tables and figures and for claims."""
    rows = [("Verdict", "Tables and figures", "Claims", "Meaning")]
    for verdict, meaning in VERDICTS.items():
        counts = [
            sum(claim.part == part and claim.verdict == verdict for claim in CLAIMS)
            for part in PARTS
        ]
        rows.append((verdict, *map(str, counts), f"{meaning[0].upper()}{meaning[1:]}."))
    totals = [str(sum(claim.part == part for claim in CLAIMS)) for part in PARTS]
    return list_table(
        [*rows, ("total", *totals, "Each row of a table counts once.")], (22, 13, 13, 52)
    )


def equations():
    """Return the counts of the equations by status, and the table of the numbered ones."""
    rows = [("Status", "All", "Numbered", "Meaning")]
    for status, meaning in STATUSES.items():
        found = [equation for equation in EQUATIONS if equation.status == status]
        numbered = sum(equation.number is not None for equation in found)
        rows.append((status, str(len(found)), str(numbered), f"{meaning[0].upper()}{meaning[1:]}."))
    table = [("Equation", "The paper", "Status", "Checks")]
    table += [
        (
            f"Eq. {equation.number}, {equation.section}",
            f"${equation.tex}$",
            equation.status,
            ", ".join(f"`{name}`" for name in equation.checks),
        )
        for equation in EQUATIONS
        if equation.number is not None
    ]
    return f"{list_table(rows, (15, 10, 12, 63))}\n\n{list_table(table, (14, 42, 12, 32))}"


def page():
    """Return the page as MyST Markdown.

    Returns
    -------
    text : str
    """
    lines = read_records()
    numbered = sum(equation.number is not None for equation in EQUATIONS)
    parts = [
        "# The paper, claim by claim",
        "This page has every table, figure and numbered equation of Kumar, Chatterjee and Rai "
        "(2021), and every claim about its method and results, with what was measured here and a "
        "verdict. The text is the preprint, [arXiv:1912.03624](https://arxiv.org/abs/1912.03624). "
        "The version in the proceedings of ICML 2021 was not compared and may contain more: [a "
        "second program of its authors](https://github.com/npbcl/icml21) also has convolutional "
        "networks for CIFAR-10 and CIFAR-100, with one mask for each pair of channels, and an "
        "autoencoder without task boundaries. Neither is in the preprint. This package has [masked "
        "convolutions](/beyond.md#convolutions) and reads both sets of images, but has no results "
        "on CIFAR, and no autoencoder without task boundaries. The numbers under *Here* are read "
        "from the [records](/reproduction.md) when this site is built. *NPBCL* is this package's "
        "version at its default settings, unless the row states otherwise.",
        "## Findings",
        findings(lines),
        "## Summary",
        summary(),
        "Numbers are means, with the sample standard deviation if there is more than one seed. The "
        "default and the printed settings were run more than once. On two kinds of processors, "
        "accuracies differ by a few hundredths of a percent, and log p(x) by a few nats. Numbers "
        "in square "
        "brackets are the 95 % interval of a difference, seed by seed. **One seed is not evidence "
        "of a small difference.** A verdict with the words \"(1 seed)\" rests on at least one "
        "number from a single seed and is preliminary. Commands need the option `--data-dir DIR`. "
        "A row names one command; *commands* leads to the section with all commands of a record "
        "and their options. Few rows are simply *reproduced*, because the defaults differ from the "
        "printed settings. Most statements that both our default and the printed settings can "
        "answer have two rows. A row of the table of accuracies agrees on a data set if the two "
        "means differ by at most two standard deviations, here and in the paper, combined, and by "
        "at most half a point, because the first criterion alone would reward methods that vary. "
        "The [errata](/paper/errata.rst) list the places where the paper is wrong or ambiguous.",
        "Acc, FWT (forward transfer), BWT (backward transfer) and other measures are defined "
        "under [What the numbers mean](/reproduction.md#what-the-numbers-mean), and the words of "
        "the method, such as sticks and coresets, in the [glossary](/glossary.md).",
        "## Terms",
        "Records with several methods, and whether these were compared on equal terms. The other "
        "records that this page names compare variants of one method. Every line of a record "
        "names the commit of its program and the processor, and some records join runs of several "
        "commits. Early settings of NPBCL had been judged on the test images of Split MNIST "
        "(`benchmarks/settings/npbcl.md`). In the search for naive training on Fashion MNIST, "
        "halving stopped nine of twelve trials before the last task, and the best of the other "
        "three was the default, so its tuned row is its default.",
        terms(),
    ]
    for part in PARTS:
        if part == "claims":
            parts += [
                "## Equations",
                f"The paper has {numbered} numbered equations. `ibpcl check --paper` runs the "
                "checks of the last column. [The paper, equation by "
                "equation](/paper/index.rst) lists all formulas, and the "
                "[errata](/paper/errata.rst) explain what is clarified or corrected.",
                equations(),
            ]
        rows = [claim_row(claim, lines) for claim in CLAIMS if claim.part == part]
        header = ("The paper", "Here", "Verdict", "Command and record")
        parts += [f"## {HEADINGS[part]}", list_table([header, *rows], WIDTHS)]
    return "\n\n".join(parts) + "\n"
