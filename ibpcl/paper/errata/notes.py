"""Editorial remarks on the paper: what is not said, said twice, or called by one name for two
things.
"""

from ibpcl.paper.errata.entry import Note

NOTES = (
    Note(
        "symbols",
        "throughout",
        175,
        "one letter, several meanings",
        "alpha is the IBP's concentration, a Beta's, a Kumaraswamy's and a mask's odds; nu is a "
        "stick and, with two indices, the parameters of its posterior; v is the stick later on; "
        "beta, B and theta have several meanings.",
    ),
    Note(
        "prior-temperature",
        "supplement D.3",
        534,
        "never given",
        "The temperature of the prior's concrete masks is never given.",
    ),
    Note(
        "expansion-constant",
        "Sec. 4.6",
        306,
        "T^l and 'iteration' are not given",
        (
            "The number T^l of empty columns is not given, nor whether an iteration is a step or a "
            "task."
        ),
    ),
    Note(
        "bias-prior",
        "Sec. 4.1, Eq. 11",
        248,
        "not said for biases and heads",
        "What the masked prior is for biases is not said; here a bias follows its unit's "
        "activity, and a new head has p_0.",
    ),
    Note(
        "unused-weights",
        "Sec. 4.1",
        250,
        "where they start is not said",
        "If every weight starts at its last posterior, those that no task uses are pulled from "
        "there to p_0; here they start afresh.",
    ),
    Note(
        "bwt-most",
        "supplement F.2",
        624,
        "true of three baselines, not of Rehearsal",
        "'Backward transfer is more as compared to most baselines': to three of four; "
        "Rehearsal's +1.3e-4 is ten times ours, +1.33e-5.",
    ),
    Note(
        "deviations",
        "supplement F, Table 2",
        578,
        "one run: the deviations have no source",
        "The released code runs once; the deviations have no source.",
    ),
    Note(
        "fashion-split",
        "supplement A",
        458,
        "not the official split",
        (
            "50 000 / 20 000 is a split of all 70 000 images by the authors; the official one is "
            "60 000 / 10 000."
        ),
    ),
    Note(
        "baseline-widths",
        "supplement B",
        463,
        "not the defaults of DEN and RCL",
        "DEN and RCL: 256, 128 units; their own default is 312, 128.",
    ),
    Note(
        "vcl-architecture",
        "supplement B.2",
        472,
        "not that of the official code",
        "VCL's decoder is described with two shared and one specific layer, latent 100; the "
        "official code has two specific and two shared layers, latent 50.",
    ),
    Note(
        "latent-prior",
        "supplement G",
        635,
        "'fixed or learned': which is not said",
        "The latent prior is 'fixed or learned'; the authors' code learns a mean for each task "
        "and penalizes its norm.",
    ),
    Note(
        "url",
        "supplement B",
        466,
        "https:// stands twice",
        "https:// stands twice before the address of RCL.",
    ),
)
