"""Foreign code in a child process, with limits on time, memory and output.

Three parts of the package use it: the checker runs a user's file, the classroom reads hand-ins, and
its judge calls their functions.  It imports nothing from the rest of ``ibpcl`` except ``errors``.

- ``verify.running.checking`` checks a file: with the user's Python, rights, modules and terminal,
  and within a limit on wall-clock time from item to item.
- ``classroom.intake.reading.serving`` reads hand-ins: with Python without installed packages, and
  within limits on processor time per request and on memory.
- ``classroom.judging.running.inside`` calls the functions of a hand-in: in a box
  (:mod:`ibpcl.sandbox.boxes`), and
  within limits on processor time, memory, threads, files, and the size of each answer.

All three have one protocol:

1. A message is a *frame* (:mod:`ibpcl.sandbox.frames`): lengths, a header in JSON, and the numbers
   of its arrays.  Nothing is pickled.
2. The parent starts the process.  In a box, its first program is :mod:`ibpcl.sandbox.start`, which
   reads the texts of the modules that follow, since no file of the package is in a box.
3. The first frame is the *order*: the program, the limits, and the box.  The child
   (:mod:`ibpcl.sandbox.child`) moves its pipes away from standard input and output, restricts
   itself, imports the program, and answers ``{"reply": "ready"}``.
4. A *request* names a method of the program, its arguments, and the largest size of an answer.
5. The *answer* is ``{"reply": value}``; or ``{"item": value}`` for each value of a generator, and a
   reply at its end; or ``{"error": {"type": ..., "message": ..., "line": ...}}`` at any time.
6. The parent (:class:`ibpcl.sandbox.worker.Worker`) reads each frame within a limit on processor
   time and one on wall-clock time.  It ends the process, and all that the process has started, if
   a limit is exceeded, if there are too many threads, or if a frame is malformed.  The exception
   names the cause.  Points depend on the limit on processor time, because wall-clock time depends
   on the load of the machine.  The limit on wall-clock time only stops a program that waits.
7. If the parent ends for any reason, the kernel ends the child (on Linux), or the child finds its
   pipe closed.

The parent trusts no answer: foreign code shares its process with the child side, and can forge what
it sends.
"""
