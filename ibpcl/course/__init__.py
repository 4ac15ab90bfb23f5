"""A course to adopt: syllabi, slides, quizzes, notes for instructors and a formula sheet.

``ibpcl class course`` writes the whole kit into a folder; see :func:`ibpcl.course.kit.write`.
Titles, times and prerequisites are those of the chapters, and goals those of the tutorials, so a
course has no table of its own to keep up to date.
"""
