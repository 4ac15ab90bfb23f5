"""A course in a browser tab: tutorials 0 to 5, chapters 0 to 6, and ``check`` on your own code.

Python runs in the tab, in Pyodide, without a server, Numba and child processes.  A reader's folder
is kept in the browser and can be downloaded as the folder that ``ibpcl learn`` reads.
:mod:`ibpcl.course.browser.building` writes the files, and :mod:`ibpcl.course.browser.tab` is what
the page calls.
"""
