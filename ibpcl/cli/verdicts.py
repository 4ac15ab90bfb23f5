"""Summary of all verdicts of ``ibpcl check``: exit code, last lines, JSON, HTML and SARIF.

An item is a :class:`ibpcl.verify.running.user.Checked` or a :class:`ibpcl.paper.catalogue.Result`.
"""

import textwrap

# Exit codes by verdict, the worst first.
CODES = {"wrong": 1, "refused": 2, "undecided": 3, "ok": 0}


def joint(items):
    """Return the verdict on all items: the worst one.

    Parameters
    ----------
    items : sequence
        The verdicts.

    Returns
    -------
    verdict : str
        The first key of :data:`CODES` that occurs.
    """
    return next(
        verdict
        for verdict in CODES
        if verdict == "ok" or any(item.verdict == verdict for item in items)
    )


def summary(items, seconds):
    """Return the last lines: the number of verdicts by kind, the time, and the largest error.

    A gradient that is not judged is counted apart, as in "3 ok; 1 of 4 UNDECIDED: softmax; 2
    gradients not judged".

    Parameters
    ----------
    items : sequence
        The verdicts.
    seconds : float
        The time of all checks.

    Returns
    -------
    text : str
        Lines of at most 80 columns.
    """
    parts = []
    for verdict in ("wrong", "refused", "undecided"):
        names = [item.title for item in items if item.verdict == verdict]
        word = "not checked" if verdict == "refused" else verdict.upper()
        parts += [f"{len(names)} of {len(items)} {word}: {', '.join(names)}"] if names else []
    right = sum(item.verdict == "ok" for item in items)
    parts = [f"{right} ok", *parts] if parts else [f"all {len(items)} ok"]
    left = sum(len(item.report.unjudged) for item in items if item.report is not None)
    parts += [f"{left} gradient{'s' * (left > 1)} not judged"] if left else []
    rows = ["", wrapped(f"{'; '.join(parts)}; {seconds:.1f} s", "    ")]
    largest = largest_error(items)
    if largest:
        rows.append(
            wrapped(
                f"largest relative error among {sum(item.report is not None for item in items)} "
                f"gradients: {largest['error']:.1e} ({largest['name']})",
                "    ",
            )
        )
    return "\n".join(rows)


def largest_error(items):
    """Return the gradient with the largest relative error.

    Parameters
    ----------
    items : sequence
        The verdicts.

    Returns
    -------
    largest : dict or None
        ``name`` and ``error``; None without any gradient.
    """
    gradients = [item for item in items if item.report is not None]
    item = max(gradients, key=lambda item: item.report.error, default=None)
    return item and {"name": item.title.partition("/")[2], "error": item.report.error}


def wrapped(text, indent):
    """Return a line broken at 80 columns.

    Parameters
    ----------
    text : str
        The line.
    indent : str
        Beginning of the second and all further lines.

    Returns
    -------
    text : str
        The lines.
    """
    return "\n".join(
        textwrap.wrap(
            text, 80, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
    )


def as_dict(items, seconds, seed):
    """Return all verdicts as plain values, for JSON.

    Parameters
    ----------
    items : sequence
        The verdicts.
    seconds : float
        The time of all checks.
    seed : int
        The seed of the inputs.

    Returns
    -------
    values : dict
        The joint verdict and one entry per check.
    """
    from ibpcl.verify.reports.plain import plain

    verdict = joint(items)
    return {
        "ok": verdict == "ok",
        "verdict": verdict,
        "seed": seed,
        "seconds": seconds,
        "largest_gradient_error": plain(largest_error(items)),
        "checks": [item.to_dict() for item in items],
    }


def as_page(items):
    """Return one HTML page with all verdicts.

    Parameters
    ----------
    items : sequence
        The verdicts.

    Returns
    -------
    html : str
        The page.
    """
    from ibpcl.verify.reports.page import page
    from ibpcl.verify.running.user import Checked

    yours = [item for item in items if isinstance(item, Checked)]
    if len(yours) < len(items):
        from ibpcl.paper import rendering

        yours += rendering.sections([item for item in items if not isinstance(item, Checked)])
    return page(yours, "Results of ibpcl check")


def as_sarif(yours):
    """Return the verdicts on the user's files as a SARIF log.

    Parameters
    ----------
    yours : sequence of (str, ibpcl.verify.running.user.Checked)
        Each file with a verdict.

    Returns
    -------
    log : dict
        The log, which ``json.dumps`` accepts.
    """
    from ibpcl import __version__
    from ibpcl.verify.reports.sarif import log

    return log(yours, __version__)
