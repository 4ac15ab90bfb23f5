# %% [markdown] slideshow={"slide_type": "slide"}
# # 16. Masked convolutions
#
# A stroke is a stroke wherever it is drawn. A dense layer has other weights for every
# place, so it must learn the stroke again at each of them. A convolution has one small
# set of weights, a *filter*, and applies it everywhere. The paper names convolutions as
# future work. In this tutorial we write a convolution as one matrix product, derive its
# gradients, and put the masks of the Indian buffet process on its filters. At the end a
# small network learns two tasks, and the second task reuses filters of the first.
#
# **Prerequisites:** tutorials 3, 7 and 8. **Time:** about 60 minutes.
#
# **You will be able to**
#
# - write a convolution as a product with a matrix of patches;
# - derive its adjoint, the transposed convolution, and the gradient of the kernel;
# - explain what stride and padding do to an image and to its gradient;
# - choose which weights share a mask, and sum the gradient accordingly;
# - say when noise per output is as good as drawn weights, and what it drops otherwise.
#
# Names: `x` is an image with rows, columns and channels. `w` is the kernel, with `I`
# rows, `J` columns, `D` input channels and `K` filters. $p, q$ are the row and the
# column of an output. `stride` is $t$ and `padding` is $P$ in formulas.

# %%
from math import prod

import matplotlib.pyplot as plt
import numpy as np

import ibpcl
from ibpcl.continual.task import Task
from ibpcl.evaluation.figures.canvas import PALETTE
from ibpcl.noise import Key, generator
from ibpcl.primitives import convolution, local_convolution, masked_convolution
from ibpcl.verify import check

plt.rcParams.update(
    {"axes.prop_cycle": plt.cycler(color=PALETTE), "legend.fontsize": 8}
)
rng = np.random.default_rng(16)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## A sum over patches
#
# Start with one channel and one filter. The kernel lies on the image, we multiply what
# lies on top of each other, and add up. Then the kernel moves by one pixel:
#
# $$ h_{pq} = \sum_{i = 0}^{I - 1} \sum_{j = 0}^{J - 1} x_{p + i,\, q + j}\; w_{ij}. $$
#
# An image of $H$ rows has room for $H - I + 1$ positions of the kernel from top to
# bottom. In signal processing this sum is called a correlation. There, a convolution
# turns the kernel upside down first. Libraries for neural networks do not turn it, and
# nor do we.

# %% slideshow={"slide_type": "slide"}
letter = np.zeros((10, 10))
letter[1:9, 2] = 1
letter[[1, 4, 8], 2:8] = 1  # the letter E
edge = np.array([[1.0, 2.0, 1.0], [0.0, 0.0, 0.0], [-1.0, -2.0, -1.0]])  # bright on top


def by_sums(x, w):
    rows, columns = w.shape
    h = np.zeros((x.shape[0] - rows + 1, x.shape[1] - columns + 1))
    for p in range(h.shape[0]):
        for q in range(h.shape[1]):
            h[p, q] = np.sum(x[p : p + rows, q : q + columns] * w)
    return h


h = by_sums(letter, edge)
print("image", letter.shape, "kernel", edge.shape, "output", h.shape)

# %% [markdown] slideshow={"slide_type": "slide"}
# Two loops of Python are slow. The way out is a copy. Write the numbers below each
# position of the kernel into one row. With all rows in a matrix $R$ and the kernel as a
# column, the whole convolution is **one product**:
#
# $$ R_{(pq),(ij)} = x_{p + i,\, q + j}, \qquad h = R\, w. $$
#
# So a convolution is a linear layer, and every patch of the image is an example of it.
# This is how most libraries compute it. The price is memory: a pixel is copied once for
# every position of the kernel that covers it.


# %% slideshow={"slide_type": "slide"}
def patches(x, rows, columns):
    down, across = x.shape[0] - rows + 1, x.shape[1] - columns + 1
    return np.array(
        [
            x[p : p + rows, q : q + columns].ravel()
            for p in range(down)
            for q in range(across)
        ]
    )


R = patches(letter, 3, 3)
print("matrix of patches", R.shape)
print("largest difference to the sums:", np.abs(R @ edge.ravel() - h.ravel()).max())

# the package, with its axes (S, N, H, W, D) for images and (S, I, J, D, K) for kernels
packed = convolution.conv2d(
    letter[None, :, :, None], edge[None, :, :, None, None], np.zeros((1, 1))
)[0]
print("largest difference to the package:", np.abs(packed[0, 0, :, :, 0] - h).max())

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Four panels: the letter E in ten by ten pixels with a frame around one patch; the matrix of patches with 64 rows and nine columns, one row framed; the kernel as a column of nine numbers; the output in eight by eight pixels, blue at upper edges and orange at lower edges, with one framed pixel."}}
SIGNED = plt.matplotlib.colors.LinearSegmentedColormap.from_list(
    "signed", [PALETTE[1], "white", PALETTE[0]]
)


def picture(axes, values, title, limit=None, **options):
    limit = np.abs(values).max() if limit is None else limit
    axes.imshow(values, cmap=SIGNED, vmin=-limit, vmax=limit, **options)
    axes.set(xticks=[], yticks=[])
    axes.set_title(title, fontsize=9)


def frame(axes, row, column, height, width):
    corner = (column - 0.5, row - 0.5)
    axes.add_patch(
        plt.Rectangle(corner, width, height, fill=False, lw=2, ec=PALETTE[2])
    )


p, q = 4, 3
figure, panels = plt.subplots(
    1, 4, figsize=(9, 3.2), layout="constrained", width_ratios=(3, 1.6, 0.6, 3)
)
picture(panels[0], letter, "image and one patch")
frame(panels[0], p, q, 3, 3)
picture(panels[1], R, "matrix of patches", aspect="auto")
frame(panels[1], p * 8 + q, 0, 1, 9)
picture(panels[2], edge.reshape(9, 1), "kernel", aspect="auto")
picture(panels[3], h, "output")
frame(panels[3], p, q, 1, 1)
plt.show()

# %% [markdown] slideshow={"slide_type": "slide"}
# The kernel looks for upper edges: bright above, dark below. The output is positive
# (blue) at upper edges and negative (orange) at lower ones.
#
# > **Stop and predict.** We move the letter by one pixel to the right. What happens to
# > the output? And does a dense layer do the same?
#
# <details><summary>Answer</summary>
#
# The output moves by one pixel as well. The sum does not know where it is. For a dense
# layer the moved letter is a new image, and the output has nothing to do with the old
# one.
#
# </details>

# %% slideshow={"slide_type": "slide"}
moved = np.roll(letter, 1, axis=1)  # the border is empty, so nothing wraps around
shift_error = np.abs(by_sums(moved, edge)[:, 1:] - h[:, :-1]).max()
dense = rng.standard_normal((100, 64))
out, out_moved = letter.ravel() @ dense, moved.ravel() @ dense
dense_correlation = np.corrcoef(out, out_moved)[0, 1]
print("convolution: largest difference after moving the output, too:", shift_error)
print(f"dense layer: correlation of the two outputs {dense_correlation:.2f}")

# %% [markdown] slideshow={"slide_type": "slide"}
# The two letters have many pixels in common, so the outputs of the dense layer are not
# unrelated. But no shift turns one into the other.
#
# ## The adjoint is the transposed convolution
#
# A convolution is linear in the image. So there is a matrix $C$ with $h = C x$, for
# images as long columns. Row $(pq)$ of it contains the kernel, at the place of the
# patch, and zeros elsewhere. Every gradient of a linear function is the transpose:
#
# $$ dx = C^\top dh, \qquad dx_{ab} = \sum_{p, q} dh_{pq}\, w_{a - p,\, b - q}. $$
#
# The second formula follows from the first sum: pixel $(a, b)$ enters output $(p, q)$
# with the weight $w_{ij}$ where $p + i = a$ and $q + j = b$. We never need the matrix.
# But a small one can be looked at.

# %% slideshow={"slide_type": "slide"}
C = np.array([by_sums(unit.reshape(10, 10), edge).ravel() for unit in np.eye(100)]).T
share = np.mean(C != 0)
print("C has the shape", C.shape, f"and {share:.1%} of its entries are not zero")
print("largest difference of C x and h:", np.abs(C @ letter.ravel() - h.ravel()).max())

dh = rng.standard_normal((8, 8))


def by_stamps(dh, w):
    rows, columns = w.shape
    dx = np.zeros((dh.shape[0] + rows - 1, dh.shape[1] + columns - 1))
    for p in range(dh.shape[0]):
        for q in range(dh.shape[1]):
            dx[p : p + rows, q : q + columns] += dh[p, q] * w
    return dx


dx = by_stamps(dh, edge)
stamp_error = np.abs(dx.ravel() - C.T @ dh.ravel()).max()
print(f"largest difference of the stamps and C^T dh: {stamp_error:.0e}")

# %% [markdown]
# The function `by_stamps` is the loop of `by_sums`, run backwards. Where `by_sums`
# *reads* a patch, `by_stamps` *adds* the kernel to the same patch, multiplied by the
# gradient. It is like a rubber stamp. Note `+=`: stamps overlap, and a pixel collects
# the gradients of all patches that contain it.
#
# There is another way to see it. Put a frame of zeros around $dh$ and convolve with the
# kernel turned by half a turn. This is why the adjoint has the name *transposed
# convolution*.

# %% slideshow={"slide_type": "slide"}
turned = edge[::-1, ::-1]
framed = np.pad(dh, 2)
turned_error = np.abs(by_sums(framed, turned) - dx).max()
print(f"stamps, and a convolution with the turned kernel: {turned_error:.0e}")

inside, outside = np.sum(by_sums(letter, edge) * dh), np.sum(letter * dx)
print(f"<C x, dh> = {inside:.12f}\n<x, C^T dh> = {outside:.12f}")

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Four panels: the matrix C of a convolution, a narrow band of repeated kernels; its transpose; a gradient of zeros with two pixels that are not zero, side by side; and its image under the transpose: two stamps of the kernel that overlap."}}
two = np.zeros((8, 8))
two[2, 3], two[3, 4] = 1.0, 0.6
figure, panels = plt.subplots(1, 4, figsize=(9, 2.8), layout="constrained")
picture(panels[0], C, "$C$: outputs by pixels")
picture(panels[1], C.T, r"$C^\top$")
picture(panels[2], two, "$dh$ with two pixels")
picture(panels[3], by_stamps(two, edge), r"$dx = C^\top dh$: two stamps")
plt.show()

# %% [markdown]
# ### A mistake, and how it is caught
#
# The loop that writes a patch back looks harmless with `=` in place of `+=`. We check
# both with the package's checker. Its inputs are the image and the kernel.


# %% slideshow={"slide_type": "slide"}
def conv(x, w):
    return by_patches(x, w), (x, w)


def by_patches(x, w):
    rows = patches(x, *w.shape)
    return (rows @ w.ravel()).reshape(x.shape[0] - w.shape[0] + 1, -1)


def conv_vjp(dh, cache):
    x, w = cache
    dw = patches(x, *w.shape).T @ dh.ravel()
    return by_stamps(dh, w), dw.reshape(w.shape)


def overwriting_vjp(dh, cache):
    x, w = cache
    dx = np.zeros(x.shape, dh.dtype)
    for p in range(dh.shape[0]):
        for q in range(dh.shape[1]):
            dx[p : p + w.shape[0], q : q + w.shape[1]] = dh[p, q] * w
    return dx, conv_vjp(dh, cache)[1]


small = rng.standard_normal((5, 6)), rng.standard_normal((3, 2))
adjoint_report = check(conv, conv_vjp, small)
overwritten = check(conv, overwriting_vjp, small)
print(adjoint_report)
print(overwritten)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## The gradient of the kernel
#
# `conv_vjp` contains it already. The product $h = R w$ is linear in $w$ as well, and
# its gradient is $dw = R^\top dh$. Written out,
#
# $$ dw_{ij} = \sum_{p, q} x_{p + i,\, q + j}\; dh_{pq}. $$
#
# Look at this sum again. It is the convolution of the image with $dh$ as the kernel!
# **Every position adds to the same nine numbers.** A filter therefore gets much more
# data than a weight of a dense layer: one example per position.

# %% slideshow={"slide_type": "slide"}
dw = conv_vjp(dh, (letter, edge))[1]
kernel_error = np.abs(dw - by_sums(letter, dh)).max()
step = np.zeros((3, 3))
step[0, 2] = 1e-20
by_complex_step = np.sum(dh * by_patches(letter, edge + 1j * step)).imag / 1e-20
print(f"R^T dh and a convolution with the kernel dh: {kernel_error:.0e}")
print(f"entry (0, 2) by hand {dw[0, 2]:.14f}")
print(f"complex step         {by_complex_step:.14f}")

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Stride and padding
#
# Two numbers change the positions. The *stride* $t$ is the step from one position to
# the next. The *padding* $P$ is a frame of zeros around the image, so that the kernel
# can also lie on the border. The number of positions along an axis becomes
#
# $$ H' = \Bigl\lfloor \frac{H + 2 P - I}{t} \Bigr\rfloor + 1, \qquad
#    h_{pq} = \sum_{ij} x_{p t + i - P,\, q t + j - P}\; w_{ij}. $$
#
# The gradient follows the same positions. To see them, we pull a gradient of ones back
# through a kernel of ones. The result counts how many patches read each pixel.
#
# > **Stop and predict.** An image has ten rows and the kernel three, with stride two
# > and no padding. Which rows are read twice, and which row is never read?
#
# <details><summary>Answer</summary>
#
# Counted from zero, the kernel starts in rows zero, two, four and six. Neighbouring
# positions share a row, so rows two, four and six are read twice. Row nine, the last
# one, is never read: the division leaves a remainder. Its gradient is zero.
#
# </details>

# %% slideshow={"slide_type": "slide"}
CASES = ((1, 0), (1, 1), (2, 0), (2, 1), (3, 0))  # stride, padding
ones = np.ones((1, 10, 10, 1))
counts = {}
for stride, padding in CASES:
    rows, cache = convolution.patches(ones, 3, 3, stride, padding)
    dones = convolution.patches_vjp(np.ones_like(rows), cache)
    counts[stride, padding] = dones[0, ..., 0]
    least, most = counts[stride, padding].min(), counts[stride, padding].max()
    print(
        f"stride {stride}, padding {padding}: output {rows.shape[1:3]}, "
        f"a pixel is read {least:.0f} to {most:.0f} times"
    )

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Five images of ten by ten pixels that count how often a pixel is read. With stride 1 all inner pixels are read nine times and the border less often, with padding the border gains. With stride 2 there is a chequered pattern of one, two and four, and without padding the last row and column are white. With stride 3 every pixel is read once, except for the last row and column."}}
figure, panels = plt.subplots(1, 5, figsize=(9, 2.3), layout="constrained")
for axes, (stride, padding) in zip(panels, CASES, strict=True):
    image = axes.imshow(counts[stride, padding], cmap="Blues", vmin=0, vmax=9)
    axes.set(xticks=[], yticks=[])
    axes.set_title(f"stride {stride}, padding {padding}", fontsize=9)
figure.colorbar(image, ax=panels, label="patches per pixel", shrink=0.8)
plt.show()

# %% [markdown] slideshow={"slide_type": "slide"}
# With a stride of two the gradient has a chequered pattern, although the gradient that
# came in was even. Networks that *draw* images with a transposed convolution show this
# pattern in their pictures.
#
# ## Masks on filters
#
# With $D$ channels in and $K$ filters, the kernel has the shape $(I, J, D, K)$, and the
# matrix of patches has $I J D$ columns. A masked convolution multiplies it by masks,
# as in $W = B \odot V$ of the paper. But which weights share a mask? There are three
# natural choices:
#
# * **weight**: each of the $I J D K$ weights has its own mask, as in a dense layer;
# * **pair**: one mask switches the whole kernel from one channel to one filter. The
#   authors' second code does this;
# * **filter**: one mask switches a whole filter.
#
# In all of them the sticks order the *filters*, $\pi_k = \prod_{i \le k} v_i$, so later
# filters are used by fewer tasks.

# %% slideshow={"slide_type": "slide"}
I, J, D, K = 3, 3, 2, 8
SHAPES = {"weight": (I, J, D, K), "pair": (1, 1, D, K), "filter": (1, 1, 1, K)}
chance = 0.9 ** np.arange(1, K + 1)  # pi_k with all sticks at 0.9
masks = {name: (rng.random(shape) < chance) * 1.0 for name, shape in SHAPES.items()}
for name, z in masks.items():
    print(f"{name:7s}{z.size:4d} masks for {prod((I, J, D, K))} weights")

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Three panels of two rows and eight columns of small kernels, one row per input channel and one column per filter. With a mask per weight the kernels have holes; with a mask per pair a kernel is whole or white; with a mask per filter the kernels of both channels are on or off together. Later filters are white more often."}}
v = rng.standard_normal((I, J, D, K))
figure, panels = plt.subplots(1, 3, figsize=(9, 1.7), layout="constrained")
for axes, (name, z) in zip(panels, masks.items(), strict=True):
    sheet = np.full((D, K, I + 1, J + 1), np.nan)
    sheet[..., :I, :J] = (v * z).transpose(2, 3, 0, 1)
    sheet = sheet.transpose(0, 2, 1, 3).reshape(D * (I + 1), K * (J + 1))
    axes.set_facecolor("0.8")
    picture(axes, np.ma.masked_invalid(sheet[:-1, :-1]), f"one mask per {name}")
    axes.set(xlabel="filters", ylabel="channels")
plt.show()

# %% [markdown] slideshow={"slide_type": "slide"}
# A shared mask multiplies many weights. Its gradient is the sum over all of them,
#
# $$ dz_{dk} = \sum_{ij} v_{ijdk}\, dw_{ijdk} \quad\text{(pair)}, \qquad
#    dz_k = \sum_{ijd} v_{ijdk}\, dw_{ijdk} \quad\text{(filter)}, $$
#
# plus the path through the bias: as in a dense layer, the bias of a filter is
# multiplied by the largest mask of the filter. The KL divergence has one term per
# *mask*. A filter of eighteen weights with one mask pays once, not eighteen times.
# So sharing makes masks cheaper, and coarser.
#
# Without the sum, the gradient has the wrong shape, or a broadcast spreads a mean
# where a sum belongs. The checker tells them apart:


# %% slideshow={"slide_type": "slide"}
def mean_vjp(dh, cache):
    dx, dv, dz, db = masked_convolution.apply_vjp(dh, cache)
    return dx, dv, dz / (I * J), db


images = rng.standard_normal((2, 3, 6, 5, D))
weights = rng.standard_normal((2, I, J, D, K))
relaxed = rng.uniform(0.1, 0.9, (2, 1, 1, D, K))
inputs = images, weights, relaxed, rng.standard_normal((2, K)), 2, 1
masked_report = check(masked_convolution.apply, masked_convolution.apply_vjp, inputs)
mean_report = check(masked_convolution.apply, mean_vjp, inputs)
print(masked_report)
print(mean_report)

# %% [markdown] slideshow={"slide_type": "slide"}
# ## Drawn weights, and noise per output
#
# A Bayesian filter has a distribution, and a sample of the network needs a sample of
# its weights. In a dense layer there is a cheaper way with less noise, *local
# reparameterization* (tutorial 8): given the input, the output is Gaussian, so draw the
# output. Its mean and variance are convolutions, too:
#
# $$ h_{pq} \sim \mathcal N\Bigl(\sum_r x_{pq,r}\, \mu_r,\; \sum_r x_{pq,r}^2\, \sigma_r^2\Bigr). $$
#
# For *one* output this is exact. But all outputs of an image read **the same drawn
# filter**. If the drawn filter is too bright, all outputs are too high together:
#
# $$ \operatorname{Cov}(h_a, h_c) = \sum_r x_{a,r}\, x_{c,r}\, \sigma_r^2 . $$
#
# Separate noise for each position drops these covariances.
#
# > **Stop and predict.** We draw many outputs for our letter in both ways. Which
# > numbers agree: the variance of a single output, or that of the mean over all
# > outputs?
#
# <details><summary>Answer</summary>
#
# The variance of a single output agrees. The variance of the mean is far too small with
# noise per output, because independent errors cancel each other in a mean, and shared
# errors do not.
#
# </details>

# %% slideshow={"slide_type": "slide"}
S = 4000
image = letter[None, ..., None]
mu, sigma = np.zeros((3, 3, 1, 1)), np.full((3, 3, 1, 1), 0.5)
zero = np.zeros(1)
drawn_w = mu + sigma * rng.standard_normal((S, 3, 3, 1, 1))
drawn = convolution.conv2d(image, drawn_w, np.zeros((S, 1)))[0].reshape(S, 64)
noise = rng.standard_normal((S, 1, 8, 8, 1))
local = local_convolution.apply(noise, image, mu, sigma, zero, zero)[0].reshape(S, 64)
covariance = local_convolution.shared_covariance(image, sigma, zero)[0, ..., 0]

exact_mean = covariance.mean()  # the variance of the mean of all outputs
print("                              exact    drawn weights    noise per output")
print(
    f"mean variance of an output  {np.trace(covariance) / 64:7.3f}"
    f"{drawn.var(axis=0).mean():17.3f}{local.var(axis=0).mean():20.3f}"
)
print(
    f"variance of their mean      {exact_mean:7.3f}{drawn.mean(axis=1).var():17.3f}"
    f"{local.mean(axis=1).var():20.3f}"
)

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Three matrices of 64 by 64 covariances. The exact one and that of drawn weights show the same stripes and blocks all over the matrix. With noise per output only the diagonal is left."}}
figure, panels = plt.subplots(1, 3, figsize=(9, 3.1), layout="constrained")
limit = covariance.max()
for axes, (title, matrix) in zip(
    panels,
    {
        "exact": covariance,
        "drawn weights": np.cov(drawn.T),
        "noise per output": np.cov(local.T),
    }.items(),
    strict=True,
):
    picture(axes, matrix, f"covariance of outputs: {title}", limit)
plt.show()

# %% [markdown] slideshow={"slide_type": "slide"}
# The package draws weights for convolutions. Local noise is available by name, for the
# comparison, and is used by itself only where the kernel has a single position.
#
# ## Two tasks of strokes
#
# Now a network learns. The images are noisy, with one short stroke anywhere. The first
# task is to tell horizontal strokes from vertical ones, and the second to tell vertical
# strokes from diagonal ones. So the filter for vertical strokes may be of use twice.

# %%
LINE = np.zeros((3, 3))
LINE[1] = 1
STROKES = {"-": LINE, "|": LINE.T, "/": np.eye(3)[::-1]}


def strokes(first, second, seed):
    rng = generator(Key(seed, 0, 0, 0))
    parts = []
    for count in (300, 200):
        y = rng.integers(0, 2, count)
        x = rng.normal(scale=0.15, size=(count, 8, 8))
        for image, label in zip(x, y, strict=True):
            a, b = rng.integers(0, 6, 2)
            image[a : a + 3, b : b + 3] += STROKES[(first, second)[label]]
        parts += [x.reshape(count, 64), y]
    return Task(f"{first} or {second}", *parts, 2)


tasks = [strokes("-", "|", 1), strokes("|", "/", 2)]

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Eight noisy images of eight by eight pixels, four per task, each with one short stroke: horizontal or vertical in the first task, vertical or diagonal in the second."}}
figure, panels = plt.subplots(1, 8, figsize=(9, 1.5), layout="constrained")
for i, axes in enumerate(panels):
    task = tasks[i // 4]
    picture(axes, task.x_train[i % 4].reshape(8, 8), task.name, 1.5)
plt.show()

# %% [markdown]
# The network has eight filters with one mask each, the largest of every $2 \times 2$
# outputs, a dense layer of sixteen units and a head per task. NPBCL learns it as any
# other network: masked training, the hard mask, fine-tuning, Eq. 11. In a shell, the
# same line works with `ibpcl run --network`. Beside it we train a dense network with
# as many weights.

# %%
SETTINGS = {
    "backend": "numpy",
    "batch": 32,
    "samples": 2,
    "epochs": 25,
    "finetune_epochs": 20,
    "prediction_samples": 20,
    "alpha": 10.0,
    "weight_rate": 0.01,
}
NETWORKS = {"convolution": "masks:filter;conv:8;dense:16", "dense": "dense:33"}


def learn(line):
    learner = ibpcl.learner("npbcl", network=line, **SETTINGS)
    right = np.full((2, 2), np.nan)
    for t, task in enumerate(tasks):
        learner.learn(task, progress=False)
        for j, seen in enumerate(tasks[: t + 1]):
            named = learner.predict(seen.x_test, j).argmax(axis=1)
            right[t, j] = np.mean(named == seen.y_test)
    return learner, right


results = {name: learn(line) for name, line in NETWORKS.items()}
sizes = {}
for name, (learner, right) in results.items():
    layers = learner.context.next_network(2).masked.values()
    sizes[name] = sum(prod(layer.shape) + layer.units for layer in layers)
    print(
        f"{name:12s}{sizes[name]:6d} weights; task 1 when new {right[0, 0]:.3f}, "
        f"at the end {right[1, 0]:.3f}; task 2 {right[1, 1]:.3f}"
    )

# %% [markdown]
# The dense network has to know a stroke at thirty-six places. Three hundred examples
# are not enough for this. The filters see it at every place.
#
# Which filters does a task use? The figure shows the mean of each filter. Filters are
# numbered by their sticks, so the first ones are the popular ones.

# %% slideshow={"slide_type": "slide"}
learner = results["convolution"][0]
used = np.array([learner.context.masks(t)["conv0"].any(axis=0) for t in range(2)])
filters = learner.context.posterior()["conv0"]["weight.mu"].reshape(3, 3, 8)
shared, first_only, new = used.all(axis=0), used[0] & ~used[1], used[1] & ~used[0]
for t in range(2):
    print(f"task {t + 1} uses the filters", *np.flatnonzero(used[t]))
print(
    f"used by both {shared.sum()}, by task 1 only {first_only.sum()}, new in task 2 "
    f"{new.sum()}, free {(~used.any(axis=0)).sum()}"
)

# %% slideshow={"slide_type": "slide"} tags=["hide-input"] mystnb={"image": {"alt": "Eight small filters of three by three weights with coloured frames that say which tasks use them. Most are shared by both tasks; some are new in the second task."}}
LOOKS = {
    "both tasks": (shared, PALETTE[4], "-"),
    "task 1 only": (first_only, "0.6", ":"),
    "new in task 2": (new, PALETTE[0], "--"),
    "free": (~used.any(axis=0), "0.9", "-"),
}
figure, panels = plt.subplots(1, 8, figsize=(9, 1.6), layout="constrained")
for k, axes in enumerate(panels):
    (label,) = [name for name, (chosen, _, _) in LOOKS.items() if chosen[k]]
    picture(axes, filters[..., k], f"{k}: {label}", np.abs(filters).max())
    axes.title.set_fontsize(7)
    for side in axes.spines.values():
        side.set(color=LOOKS[label][1], linestyle=LOOKS[label][2], linewidth=3)
plt.show()

# %% [markdown]
# The masks of the first task stay as they are. A filter that both tasks use has the
# posterior of the first task as its prior in the second (Eq. 11). So it may move only
# as far as it is uncertain. This is why the first task is still known at the end.
#
# ## Exercises
#
# Solutions are in `solutions/16_masked_convolutions.py`; `ibpcl check` checks their
# gradients.
#
# 1. **A convolution in one dimension.** Write the convolution of a sequence $x$ with a
#    kernel $w$ as a pair, and check it. *Hint:* `np.convolve` turns the kernel, and
#    `np.correlate` does not.
# 2. **Stride and padding by hand.** Write the pair for an image with stride and
#    padding, without the package. *Hint:* cut the frame off the gradient at the end.
# 3. **One mask per filter.** Write the masked kernel $w = z \odot v$ with a mask per
#    filter as a pair. *Hint:* which axes of $v$ does $z_k$ multiply?
# 4. **A mean over positions.** A filter with independent weights of standard deviation
#    $\sigma$ reads an image of ones. By which factor is the variance of the mean of all
#    outputs too small with noise per output? Confirm it with the package. *Hint:* all
#    entries of the covariance are equal.
# 5. **A kernel as large as the image.** Show that a convolution is then a dense layer.
#    And what is a convolution with a kernel of one pixel? *Hint:* reshape, and compare.
