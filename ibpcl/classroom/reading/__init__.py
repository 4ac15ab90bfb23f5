"""Reading what students wrote: archives, encodings, notebooks, and the syntax tree, without running
any of it.

All of this runs in a separate process, with limits on time and memory: a damaged archive, a
notebook of a million brackets or an f-string that keeps the parser busy for minutes costs one
student's grade, never the class.  The modules import the standard library only;
:mod:`ibpcl.classroom.reading.process` is the judge's end.
"""
