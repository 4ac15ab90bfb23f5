"""The gradient step of a network of convolutions in PyTorch: tensors, autograd, its optimizer.

The samples of the weights are groups of one convolution, which takes about as long as a loop over
samples.
"""

import numpy as np
import torch
from torch.nn import functional

EULER = 0.5772156649015329
BLOCKS = {"rho": "rho", "raw_a": "sticks", "raw_b": "sticks"}
KERNEL = 3
WINDOW = 2


def block(name):
    """Return the group of a parameter, for its learning rate."""
    kind = name.split(".")[-1]
    return BLOCKS.get(kind, kind)


def draw(p, S, N, C):
    """Draw the noise of a step."""
    noise = {"head.eps": torch.randn(S, N, C)}
    for name in masked(p):
        D, K = p[f"{name}.rho"].shape
        u = torch.rand(S, D, K)
        noise |= {
            f"{name}.weight": torch.randn(S, D, K),
            f"{name}.bias": torch.randn(S, K),
            f"{name}.stick": torch.rand(S, K),
            f"{name}.mask": torch.log(u) - torch.log1p(-u),
        }
    return noise


def masked(p):
    """Return the names of the masked layers, in the order of evaluation."""
    return [name.removesuffix(".rho") for name in p if name.endswith(".rho")]


def gaussian_kl(mu, log_sigma, prior_mu, prior_log_sigma):
    """Return the divergence of two Gaussians, summed."""
    ratio = torch.exp(2 * (log_sigma - prior_log_sigma))
    shift = (mu - prior_mu) * torch.exp(-prior_log_sigma)
    return (0.5 * (ratio + shift**2 - 1) - (log_sigma - prior_log_sigma)).sum()


def sample(p, name, noise, tau, alpha):
    """Return masked weights, biases, and the divergences of masks and sticks of a layer."""
    a = functional.softplus(p[f"{name}.raw_a"])
    b = functional.softplus(p[f"{name}.raw_b"])
    log_v = torch.log(-torch.expm1(torch.log(noise[f"{name}.stick"]) / b)) / a
    log_pi = torch.cumsum(log_v, dim=-1)
    logit_pi = (log_pi - torch.log(-torch.expm1(log_pi)))[:, None]
    logit_theta = p[f"{name}.rho"] + logit_pi
    z = torch.sigmoid((logit_theta + noise[f"{name}.mask"]) / tau)
    weight = z * (
        p[f"{name}.weight.mu"] + torch.exp(p[f"{name}.weight.log_sigma"]) * noise[f"{name}.weight"]
    )
    bias = p[f"{name}.bias.mu"] + torch.exp(p[f"{name}.bias.log_sigma"]) * noise[f"{name}.bias"]
    kl_masks = (
        torch.sigmoid(logit_theta) * p[f"{name}.rho"]
        - functional.softplus(logit_theta)
        + functional.softplus(logit_pi)
    ).sum() / len(z)
    kl_sticks = (
        (a - alpha) / a * (-EULER - torch.digamma(b) - 1 / b)
        + torch.log(a * b / alpha)
        - (b - 1) / b
    ).sum()
    return weight, bias * z.amax(dim=1), kl_masks, kl_sticks


def convolve(x, weight, bias, channels):
    """Convolve images (N, S D, H, W), or (N, D, H, W) that all samples share, with S samples."""
    S, _, K = weight.shape
    kernels = weight.reshape(S, KERNEL, KERNEL, channels, K).permute(0, 4, 3, 1, 2)
    kernels = kernels.reshape(S * K, channels, KERNEL, KERNEL)
    groups = x.shape[1] // channels
    h = functional.conv2d(x, kernels, bias.reshape(-1), padding=KERNEL // 2, groups=groups)
    return functional.max_pool2d(functional.relu(h), WINDOW)


def elbo(p, prior, alpha, x, labels, noise, tau, examples):
    """Return the four parts of the ELBO."""
    kl_masks = kl_sticks = 0.0
    S = len(noise["head.eps"])
    h = x
    channels = x.shape[1]
    for name in masked(p):
        weight, bias, of_masks, of_sticks = sample(p, name, noise, tau, alpha)
        kl_masks = kl_masks + of_masks
        kl_sticks = kl_sticks + of_sticks
        if name.startswith("conv"):
            h = convolve(h, weight, bias, channels)
            channels = weight.shape[-1]
            continue
        if h.dim() == 4:  # flat images (H, W, D), D last
            N, _, H, W = h.shape
            h = h.reshape(N, S, channels, H, W).permute(1, 0, 3, 4, 2).reshape(S, N, -1)
        h = functional.relu(h @ weight + bias[:, None])
    mean = h @ p["head.weight.mu"] + p["head.bias.mu"]
    variance = h**2 @ torch.exp(2 * p["head.weight.log_sigma"]) + torch.exp(
        2 * p["head.bias.log_sigma"]
    )
    logits = mean + torch.sqrt(variance) * noise["head.eps"]
    S, N, C = logits.shape
    log_p = -functional.cross_entropy(logits.reshape(S * N, C), labels.repeat(S), reduction="sum")
    kl_weights = sum(
        gaussian_kl(
            p[f"{name}.mu"], p[f"{name}.log_sigma"], prior[f"{name}.mu"], prior[f"{name}.log_sigma"]
        )
        for name in (key.removesuffix(".mu") for key in p if key.endswith(".mu"))
    )
    return torch.stack([log_p * (examples / (S * N)), kl_weights, kl_masks, kl_sticks])


def tensors(arrays):
    """Return a dict of tensors for a dict of arrays."""
    return {name: torch.tensor(np.asarray(array)) for name, array in arrays.items()}


def pictures(case):
    """Return the images as PyTorch has them, (N, D, H, W)."""
    return torch.tensor(case["x"].reshape(-1, *case["image"])).permute(0, 3, 1, 2).contiguous()


def elbo_and_gradient(case, noise):
    """Return the parts of the ELBO, and the gradient of the loss by name, for given noise."""
    p = {name: tensor.requires_grad_() for name, tensor in tensors(case["parameters"]).items()}
    parts = elbo(
        p,
        tensors(case["prior"]),
        case["alpha"],
        pictures(case),
        torch.tensor(case["labels"]),
        tensors(noise),
        case["tau"],
        case["examples"],
    )
    (parts * torch.tensor(case["weights"], dtype=parts.dtype)).sum().backward()
    return parts.detach().numpy(), {name: tensor.grad.numpy() for name, tensor in p.items()}


def make_step(case):
    """Return a function that takes one step of training."""
    p = {name: tensor.requires_grad_() for name, tensor in tensors(case["parameters"]).items()}
    prior = tensors(case["prior"])
    x = pictures(case)
    labels = torch.tensor(case["labels"])
    weights = torch.tensor(case["weights"], dtype=x.dtype)
    S, N, _, _, C = case["sizes"]
    optimizer = torch.optim.Adam(
        [{"params": [tensor], "lr": case["rates"][block(name)]} for name, tensor in p.items()]
    )

    def step():
        optimizer.zero_grad()
        noise = draw(p, S, N, C)
        parts = elbo(p, prior, case["alpha"], x, labels, noise, case["tau"], case["examples"])
        (parts * weights).sum().backward()
        optimizer.step()

    return step
