"""What ``ibpcl check`` makes of all verdicts together: the exit code, the last lines, JSON, a page.

An item is a :class:`ibpcl.verify.running.user.Checked` or a :class:`ibpcl.paper.catalogue.Result`.
"""

import textwrap

CODES = {"wrong": 1, "refused": 2, "undecided": 3, "ok": 0}  # exit codes, of several the first


def joint(items):
    """Return the verdict on everything: what is wrong comes before a mistake in the command, then
    what is undecided.
    """
    return next(
        verdict
        for verdict in CODES
        if verdict == "ok" or any(item.verdict == verdict for item in items)
    )


def summary(items, seconds):
    """Return the last lines: how many verdicts of which kind, how long, and the largest error among
    the gradients.
    """
    parts = []
    for verdict in ("wrong", "refused", "undecided"):
        names = [item.title for item in items if item.verdict == verdict]
        word = "not checked" if verdict == "refused" else verdict.upper()
        parts += [f"{len(names)} of {len(items)} {word}: {', '.join(names)}"] if names else []
    rows = ["", wrapped(f"{'; '.join(parts) or f'all {len(items)} ok'}; {seconds:.1f} s", "    ")]
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
    """Return name and error of the gradient with the largest error, None without any gradient."""
    gradients = [item for item in items if item.report is not None]
    item = max(gradients, key=lambda item: item.report.error, default=None)
    return item and {"name": item.title.partition("/")[2], "error": item.report.error}


def wrapped(text, indent):
    """Break a line at 80 columns."""
    return "\n".join(
        textwrap.wrap(
            text, 80, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
    )


def as_dict(items, seconds, seed):
    """Return everything as plain values, ready for JSON."""
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
    """Return one HTML page with every result."""
    from ibpcl.verify.reports.page import page
    from ibpcl.verify.running.user import Checked

    yours = [item for item in items if isinstance(item, Checked)]
    if len(yours) < len(items):
        from ibpcl.paper import rendering

        yours += rendering.sections([item for item in items if not isinstance(item, Checked)])
    return page(yours, "Results of ibpcl check")
