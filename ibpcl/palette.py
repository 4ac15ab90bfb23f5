"""The colours of all figures.

Okabe and Ito (2008), "Color universal design": distinguishable with any kind of colour blindness.
Their yellow is left out, because it is hardly visible on white. Markers and dashes distinguish
lines in grey print, and where colours repeat.
"""

BLUE = "#0072B2"
VERMILION = "#D55E00"
GREEN = "#009E73"
PINK = "#CC79A7"
ORANGE = "#E69F00"
SKY = "#56B4E9"
BLACK = "#000000"
PALETTE = (BLUE, VERMILION, GREEN, PINK, ORANGE, SKY, BLACK)
