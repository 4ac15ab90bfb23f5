"""Names of the results of a function, read from its docstring."""

import re


def names_of_results(function, count):
    """Return the names of the results of a function.

    Parameters
    ----------
    function : callable or None
        Function of the reference, with a numpydoc docstring.
    count : int
        Number of its results, without the cache.

    Returns
    -------
    names : list of str
        Names as the section "Returns" gives them; empty if it does not name ``count`` results.

    Examples
    --------
    >>> def moments():
    ...     '''Return moments.
    ...
    ...     Returns
    ...     -------
    ...     mean, deviation : float
    ...     '''
    >>> names_of_results(moments, 2)
    ['mean', 'deviation']
    """
    text = getattr(function, "__doc__", None) or ""
    section = re.search(
        r"\n( *)Returns\n *-{3,}\n(.*?)(?=\n *\n|\n\1\w[^\n]*\n *-{3,}|\Z)", text, re.S
    )
    if section is None:
        return []
    indent = section[1]
    body = section[2]
    entries = re.findall(rf"^{indent}(\w[\w, ]*?) :", body, re.M)
    names = [name for entry in entries for name in entry.split(", ") if name != "cache"]
    if len(names) == 1 and count > 1:
        names = re.findall(r"``(\w+)``", body.partition(f"\n{indent}cache :")[0])
    return names if len(names) == count else []
