# base: stub; most: 0; expect: skipped: line \d+ of \S+ raises ValueError
raise ValueError("\x1b[2J\x1b]0;title\x07\r30 of 30 graded\u202e\ud800")
