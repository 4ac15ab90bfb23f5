r"""Letters and digits drawn from the fonts that Matplotlib ships: real images without a download.

How one image is made.  A character is rasterized once a font, its capital height 64 pixels, and turned into
the signed distance to its outline (positive in the ink).  For image *i* that distance d is looked up at the
28 x 28 pixels mapped back through a random affine map, and a soft threshold turns it into ink,

.. math:: \text{ink}(p) = \operatorname{clip}\Bigl(\tfrac12 + \frac{d_i(A_i^{-1}(p - c - t_i)) + w_i}{1\ \text{px}},
          \ 0,\ 1\Bigr),

so that the weight w of the stroke is one number, in pixels.  A is a rotation, a shear and a scaling, t a shift.
Then the ink is scaled by a random contrast, and a random share of the pixels is replaced by uniform noise; the
rest of the background stays exactly 0.

Fonts.  Of the files that Matplotlib ships, 21 are text fonts.  The others are left out: Last Resort shows one
placeholder for all letters; STIXSize, STIXNonUnicode and the two DejaVu Display files have no letters; cmex10 and
cmsy10 have brackets, operators or script capitals at the letters' and digits' places; cmmi10 has old-style digits.

The training fonts are the DejaVu and the STIX families (16 files), the test fonts the five of Computer Modern: roman,
bold, italic, sans serif and typewriter.  The cut goes between families, because the bold of a family is nearly the
regular with another stroke weight, which is one of the distortions; and Computer Modern alone has every style,
so that the test set asks for new shapes, not for one style only.

How hard it is.  DIFFICULTY
"""
