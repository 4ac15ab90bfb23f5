"""The paper's supervised experiments by name: which runs each needs, what it measures, and the paper's value beside it.

``names`` lists them.  A target is a list of rows and benchmarks (``rows``, ``benchmarks``), from which ``cells`` makes
resumable runs; ``results`` holds what they gave, a ``target_...`` module turns that into tables and pictures, and
``report`` writes them.  What the paper prints is in ``paper_numbers``, with its place.
"""
