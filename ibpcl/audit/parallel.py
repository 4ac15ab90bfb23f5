"""Several tasks at the same time, in threads that wait for child processes."""

import queue
import threading

STOPPING = 5.0  # seconds for the threads to end after an interrupt


def over(items, workers, resource, work):
    """Return the results of a function for some items, in their order.

    The threads do not keep the program alive, so an interrupt ends it soon.

    Parameters
    ----------
    items : sequence
        The items.
    workers : int
        Number of threads.
    resource : callable
        ``resource()`` returns a context manager, whose value each thread uses for all its items.
    work : callable
        ``work(item, value)`` returns a result.

    Returns
    -------
    list

    Raises
    ------
    BaseException
        The first exception of ``work``, after which no further item is begun.

    Examples
    --------
    >>> import contextlib
    >>> over([1, 2, 3], 2, contextlib.nullcontext, lambda item, _: item**2)
    [1, 4, 9]
    """
    waiting = queue.SimpleQueue()
    for item in enumerate(items):
        waiting.put(item)
    results = [None] * len(items)
    errors = []

    def run():
        try:
            with resource() as value:
                while not errors:
                    try:
                        number, item = waiting.get_nowait()
                    except queue.Empty:
                        return
                    results[number] = work(item, value)
        except BaseException as error:
            errors.append(error)

    count = min(workers, len(items))
    threads = [threading.Thread(target=run, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            while thread.is_alive():
                thread.join(0.2)
    except KeyboardInterrupt as error:
        errors.append(error)
        for thread in threads:
            thread.join(STOPPING)
        raise
    if errors:
        raise errors[0]
    return results
