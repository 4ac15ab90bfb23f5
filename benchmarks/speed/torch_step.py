"""The gradient step in PyTorch, as its user would write it: tensors, autograd, the optimizer that
comes with it.
"""

import numpy as np
import torch
from torch.nn import functional

EULER = 0.5772156649015329
BLOCKS = {"rho": "rho", "raw_a": "sticks", "raw_b": "sticks"}


def block(name):
    """Return the group of a parameter, for its learning rate."""
    kind = name.split(".")[-1]
    return BLOCKS.get(kind, kind)


def draw(S, N, D, K, C):
    """Draw the noise of a step."""
    u = torch.rand(S, D, K)
    return {
        "weight": torch.randn(S, D, K),
        "bias": torch.randn(S, K),
        "stick": torch.rand(S, K),
        "mask": torch.log(u) - torch.log1p(-u),
        "head": torch.randn(S, N, C),
    }


def gaussian_kl(mu, log_sigma, prior_mu, prior_log_sigma):
    """Return the divergence of two Gaussians, summed."""
    ratio = torch.exp(2 * (log_sigma - prior_log_sigma))
    shift = (mu - prior_mu) * torch.exp(-prior_log_sigma)
    return (0.5 * (ratio + shift**2 - 1) - (log_sigma - prior_log_sigma)).sum()


def elbo(p, prior, alpha, x, labels, noise, tau, examples):
    """Return the four parts of the ELBO."""
    a = functional.softplus(p["hidden0.raw_a"])
    b = functional.softplus(p["hidden0.raw_b"])
    log_v = torch.log(-torch.expm1(torch.log(noise["stick"]) / b)) / a
    log_pi = torch.cumsum(log_v, dim=-1)
    logit_pi = (log_pi - torch.log(-torch.expm1(log_pi)))[:, None]
    logit_theta = p["hidden0.rho"] + logit_pi
    z = torch.sigmoid((logit_theta + noise["mask"]) / tau)
    weight = z * (
        p["hidden0.weight.mu"] + torch.exp(p["hidden0.weight.log_sigma"]) * noise["weight"]
    )
    bias = p["hidden0.bias.mu"] + torch.exp(p["hidden0.bias.log_sigma"]) * noise["bias"]
    h = functional.relu(x @ weight + (bias * z.amax(dim=1))[:, None])
    mean = h @ p["head.weight.mu"] + p["head.bias.mu"]
    variance = h**2 @ torch.exp(2 * p["head.weight.log_sigma"]) + torch.exp(
        2 * p["head.bias.log_sigma"]
    )
    logits = mean + torch.sqrt(variance) * noise["head"]
    S, N, C = logits.shape
    log_p = -functional.cross_entropy(logits.reshape(S * N, C), labels.repeat(S), reduction="sum")
    kl_masks = (
        torch.sigmoid(logit_theta) * p["hidden0.rho"]
        - functional.softplus(logit_theta)
        + functional.softplus(logit_pi)
    ).sum() / S
    kl_sticks = (
        (a - alpha) / a * (-EULER - torch.digamma(b) - 1 / b)
        + torch.log(a * b / alpha)
        - (b - 1) / b
    ).sum()
    kl_weights = sum(
        gaussian_kl(
            p[f"{name}.mu"], p[f"{name}.log_sigma"], prior[f"{name}.mu"], prior[f"{name}.log_sigma"]
        )
        for name in ("hidden0.weight", "hidden0.bias", "head.weight", "head.bias")
    )
    return torch.stack([log_p * (examples / (S * N)), kl_weights, kl_masks, kl_sticks])


def tensors(arrays):
    """Return a dict of tensors for a dict of arrays."""
    return {name: torch.tensor(np.asarray(array)) for name, array in arrays.items()}


def elbo_and_gradient(case, noise):
    """Return the parts of the ELBO, and the gradient of the loss by name, for given noise."""
    p = {name: tensor.requires_grad_() for name, tensor in tensors(case["parameters"]).items()}
    parts = elbo(
        p,
        tensors(case["prior"]),
        case["alpha"],
        torch.tensor(case["x"]),
        torch.tensor(case["labels"]),
        tensors(noise),
        case["tau"],
        case["examples"],
    )
    (parts * torch.tensor(case["weights"], dtype=parts.dtype)).sum().backward()
    return parts.detach().numpy(), {name: tensor.grad.numpy() for name, tensor in p.items()}


def make_step(case, compiled=False):
    """Return a function that takes one step of training."""
    p = {name: tensor.requires_grad_() for name, tensor in tensors(case["parameters"]).items()}
    prior = tensors(case["prior"])
    x = torch.tensor(case["x"])
    labels = torch.tensor(case["labels"])
    weights = torch.tensor(case["weights"], dtype=x.dtype)
    optimizer = torch.optim.Adam(
        [{"params": [tensor], "lr": case["rates"][block(name)]} for name, tensor in p.items()]
    )

    def loss():
        noise = draw(*case["sizes"])
        return (
            elbo(p, prior, case["alpha"], x, labels, noise, case["tau"], case["examples"]) * weights
        ).sum()

    objective = torch.compile(loss) if compiled else loss

    def step():
        optimizer.zero_grad()
        objective().backward()
        optimizer.step()

    return step
