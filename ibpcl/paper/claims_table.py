"""Every table, figure and claim of the paper, with our result and a verdict.

The site renders this table as the page "The paper, claim by claim". The rows are in
:mod:`ibpcl.paper.figure_claims` and :mod:`ibpcl.paper.text_claims`, and their type is in
:mod:`ibpcl.paper.claim`. The numbers of the paper come from :mod:`ibpcl.paper.numbers`. The
equations have a separate table, :mod:`ibpcl.paper.equations`.
"""

from ibpcl.paper.figure_claims import FIGURE_CLAIMS
from ibpcl.paper.text_claims import TEXT_CLAIMS

CLAIMS = (*FIGURE_CLAIMS, *TEXT_CLAIMS)
