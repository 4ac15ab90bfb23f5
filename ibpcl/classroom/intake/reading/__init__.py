"""Reading of hand-ins without running them: archives, encodings, notebooks and syntax trees.

All of this runs in a separate process, with limits on time and memory.  So a damaged archive, a
notebook of a million brackets, or an f-string that occupies the parser for minutes affects one
student, never the class.  The modules import only the standard library;
:mod:`ibpcl.classroom.intake.reading.process` is the judge's end.
"""
