"""Tasks in sequence: the task, the interface of a learner, and the loop over the tasks.

The package also contains coresets, the Fisher information, and the masks and priors of NPBCL.
"""
