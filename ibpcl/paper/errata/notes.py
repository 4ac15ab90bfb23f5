"""Remarks on the paper that need no computation, such as missing details and ambiguous symbols."""

from ibpcl.paper.errata.entry import Note

NOTES = (
    Note(
        "symbols",
        "ambiguity",
        "throughout",
        175,
        "one letter has several meanings",
        "alpha denotes the IBP's concentration, a parameter of a Beta distribution, a parameter of "
        "a Kumaraswamy distribution and the odds of a mask. nu is a stick and, with two indices, "
        "the parameters of its posterior; later v is the stick. beta, B and theta also have "
        "several meanings.",
    ),
    Note(
        "expansion-constant",
        "ambiguity",
        "Sec. 4.6",
        306,
        "'iteration' and T^l are not defined",
        "The number T^l of empty columns is not given, nor whether an iteration is a training "
        "step or a task.",
    ),
    Note(
        "bias-prior",
        "ambiguity",
        "Sec. 4.1, Eq. 11",
        248,
        "the masked prior of biases is undefined",
        "The masked prior of biases is not defined. Here a bias follows the activity of its unit, "
        "and a new head has the prior p_0.",
    ),
    Note(
        "unused-weights",
        "ambiguity",
        "Sec. 4.1",
        250,
        "where unused weights start is not given",
        "If every weight starts at its last posterior, the weights that no task uses are pulled "
        "from there to p_0. Here they are initialized again for each task.",
    ),
    Note(
        "three-data-sets",
        "remark",
        "Sec. 6.1",
        332,
        "'three' data sets, four are listed",
        "The text announces three benchmark data sets and lists four: Split MNIST, Split notMNIST, "
        "Permuted MNIST and Fashion MNIST.",
    ),
    Note(
        "coreset-tasks",
        "choice",
        "Sec. 4.3",
        286,
        "here the newest task is refined as well",
        "The paper updates only the weights of tasks 1 to t - 1 on the coresets. By default, the "
        "newest task is refined on its coreset here as well, as in VCL's code. The setting "
        "coreset_tasks = earlier leaves it out.",
    ),
    Note(
        "coreset-recursion",
        "choice",
        "supplement C",
        505,
        "here each task keeps its own coreset",
        "The paper chooses each coreset from the new task and the old coreset, so points can leave "
        "the coreset and become training data. By default, each task keeps its own coreset here, "
        "and the coreset C_t is their union: no point leaves it, and the recursion reduces to "
        "training on the points of task t outside its coreset. The setting coreset_selection = "
        "reselected chooses C_t from D_t and C_{t-1}. Points of task s that leave it are trained "
        "with the head and the mask of task s, before task t. A random choice then keeps almost "
        "no point of earlier tasks.",
    ),
    Note(
        "coreset-gain",
        "remark",
        "Sec. 6.1 against supplement F, Table 2",
        344,
        "coresets lower two of four table entries",
        "The text says that coresets improve performance a bit. In the table, the coreset raises "
        "the paper's method on Split MNIST and Fashion MNIST, and lowers it on notMNIST (97.152 to "
        "97.061) and on Permuted MNIST (98.180 to 98.163). All four differences are within the "
        "printed deviations.",
    ),
    Note(
        "bwt-most",
        "remark",
        "supplement F.2",
        624,
        "BWT exceeds three of the four baselines",
        "'backward transfer for our model is more as compared to most baselines' holds for three "
        "of four. Rehearsal's +1.3e-4 is ten times the +1.33e-5 of the paper's method.",
    ),
    Note(
        "deviations",
        "remark",
        "supplement F, Table 2",
        578,
        "the source of the deviations is unknown",
        "The released code runs each experiment once, so the source of the printed deviations is "
        "unknown.",
    ),
    Note(
        "fashion-split",
        "remark",
        "supplement A",
        458,
        "Fashion MNIST: not the official split",
        "The 50,000 training and 20,000 test images are the authors' own split of all 70,000 "
        "images. The official split has 60,000 and 10,000.",
    ),
    Note(
        "baseline-layers",
        "ambiguity",
        "supplement B against B.1",
        463,
        "which baselines have two hidden layers",
        "Supplement B says that all models except DEN have one hidden layer. Supplement B.1 and "
        "Sec. 6.1 say that DEN and RCL have two.",
    ),
    Note(
        "baseline-widths",
        "remark",
        "supplement B",
        463,
        "DEN and RCL: not their default widths",
        "DEN and RCL start with 256 and 128 units; the default of their own code is 312 and 128.",
    ),
    Note(
        "vcl-architecture",
        "remark",
        "supplement B.2",
        472,
        "VCL's decoder: not the official code's",
        "VCL's decoder is described with two shared layers, one specific layer and 100 latent "
        "dimensions. The official code has two shared layers, two specific layers and 50 latent "
        "dimensions.",
    ),
    Note(
        "latent-prior",
        "ambiguity",
        "supplement G",
        635,
        "the latent prior: 'fixed or learned'",
        "The prior of the latent codes is 'fixed or learned'. The authors' code learns one mean "
        "per task and penalizes its norm.",
    ),
    Note(
        "url",
        "remark",
        "supplement B",
        466,
        "the address of RCL repeats https://",
        "https:// is printed twice in the address of RCL's code.",
    ),
    Note(
        "code-undefined-name",
        "code",
        "file ibpbcl_tfree.py",
        252,
        "the task-free learner ends in a NameError",
        "The method batch_train ends with three uses of mf_model, a name that only its comments "
        "define. If the buffer of new images fills up before, get_new_model reads the undefined "
        "names mf_variances (line 270) and task_id (line 273). So no run passes its first task, "
        "and no result of this file can be repeated.",
    ),
    Note(
        "code-novelty-reversed",
        "code",
        "file ibpbcl_tfree.py",
        213,
        "the test of novelty is reversed",
        "Images whose log-likelihood less divergences is above -160 nats go to the buffer of a new "
        "component, and the model trains on the others (line 222). The well explained images are "
        "the known ones, so the comparison should be the other way round.",
    ),
    Note(
        "code-weights-not-sampled",
        "code",
        "file Convolutional/ibpbnn.py",
        770,
        "no weight is sampled",
        "The noise of a weight is multiplied by 0 times a flag, in kernels and in dense layers "
        "(line 774). So every network has the posterior means as its weights, in training and in "
        "predictions, while the objective contains their divergence. The masks are sampled. The "
        "first program samples the weights.",
    ),
    Note(
        "code-batch-normalization",
        "code",
        "file Convolutional/ibpbnn.py",
        951,
        "no batch normalization at test time",
        "With the argument eval, the mean is replaced by 0 and the variance by 1, in place of "
        "averages of the training, so the layer does nothing. The argument is set wherever the "
        "mask is fixed (line 936): in fine-tuning, in its validation and in every prediction. The "
        "mask is thus learned for a normalized network and used in another one, to which five "
        "epochs of fine-tuning adapt the weights.",
    ),
)
