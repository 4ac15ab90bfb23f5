"""Wrong answers to the exercises of chapter 8: text of the reference, wrong text, its name."""

from answering import letters

DRAWN = "log_v, stick_cache = kumaraswamy.sample(u, softplus(raw_a), softplus(raw_b))"
BACK = "dlog_pi = stick_breaking.logit_probabilities_vjp(dlogit_pi, logit_cache)"
RAW = "return da * sigmoid(raw_a), db * sigmoid(raw_b)"
KL = "kl, cache = kumaraswamy.kl_to_beta(softplus(raw_a), softplus(raw_b), alpha)"
ALPHA = "return da * sigmoid(raw_a), db * sigmoid(raw_b), dalpha"
OUT = "return (z * v, activity, divergence), ("
SAMPLE = "return dmu, dlog_sigma, dlogit_theta.sum(axis=0), dlogit_pi + dlogit_theta.sum(axis=1)"
DZ = "dz = dw * v + masked_linear.column_activity_vjp(dactivity, largest)"
MOMENTS = "bias_sigma = np.exp(bias_log_sigma) * active\n    return (mu * mask, sigma"
SLOPES = "return dmean * mask, dsigma * sigma, dbias_mean * active, dbias_sigma * bias_sigma"
NOISE = "return x @ mu + bias_mu + scale * eps, ("
VARIANCE = "variance = (x * x) @ (sigma * sigma) + bias_sigma * bias_sigma"
DVARIANCE = "dvariance = np.where(scale > 0, dh * eps / (2 * safe), 0)"
DX = "dx = dh @ mu.T + 2 * x * (dvariance @ (sigma * sigma).T) if needs_dx else None"

WRONG = {
    "8.1": [
        (DRAWN, DRAWN.replace("softplus(raw_a), softplus(raw_b)", "np.exp(raw_a), np.exp(raw_b)")),
        (DRAWN, DRAWN.replace("softplus(raw_a), softplus(raw_b)", "raw_a**2, raw_b**2")),
        (
            DRAWN,
            DRAWN.replace("softplus(raw_a), softplus(raw_b)", "softplus(raw_b), softplus(raw_a)"),
            "swapped",
        ),
        (DRAWN, DRAWN.replace("sample(u,", "sample(1 - u,"), "other_input"),
        (
            "logit_cache = prior_log_odds(log_pi, link)",
            "logit_cache = prior_log_odds(log_v, link)",
            "other_quantity",
        ),
        ("return logit_pi, (raw_a", "return log_pi, (raw_a", "other_quantity"),
        ("return logit_pi, (raw_a", "return -logit_pi, (raw_a", "sign"),
        (BACK, "pass", "other_quantity"),
        (BACK, "dlog_pi = -dlogit_pi"),
        (RAW, "return da, db", "elementwise_factor"),
        (RAW, "return da * sigmoid(-raw_a), db * sigmoid(-raw_b)", "elementwise_factor"),
        (RAW, "return db * sigmoid(raw_b), da * sigmoid(raw_a)", "swapped"),
        ("stick_breaking.log_probabilities_vjp(dlog_pi, product_cache)", "dlog_pi", "missing_term"),
        (
            "def log_odds(u, raw_a, raw_b, link=\"logit\"):",
            "def log_odds(u, raw_a, raw_b):\n    link = \"logit\"",
        ),
    ],
    "8.2": [
        (
            KL,
            KL.replace("softplus(raw_a), softplus(raw_b)", "np.exp(raw_a), np.exp(raw_b)"),
            "other_function",
            "a and b are the exponentials of the raw parameters here; they must be their softplus",
        ),
        (
            KL,
            KL.replace("softplus(raw_a), softplus(raw_b)", "softplus(raw_b), softplus(raw_a)"),
            "swapped",
        ),
        ("return kl, (raw_a", "return -kl, (raw_a", "sign"),
        ("return kl, (raw_a", "return kl / raw_a.size, (raw_a", "mean"),
        ("return kl, (raw_a", "return kl / np.log(2), (raw_a", "constant_factor"),
        (ALPHA, "return da, db, dalpha", "elementwise_factor"),
        (ALPHA, "return da * sigmoid(raw_a), db * sigmoid(raw_b), 0 * dalpha"),
        (ALPHA, "return da * sigmoid(raw_a), db * sigmoid(raw_b)"),
        (ALPHA, "return da * sigmoid(raw_a), da * sigmoid(raw_b), dalpha", "other_quantity"),
        (ALPHA, "return da * sigmoid(raw_a), db * sigmoid(raw_b), -dalpha", "sign"),
        (ALPHA, "return dalpha, da * sigmoid(raw_a), db * sigmoid(raw_b)", "swapped"),
    ],
    "8.3": [
        (OUT, "return (v, activity, divergence), (", "elementwise_factor"),
        (OUT, "return (z * v, z.mean(axis=1), divergence), (", "other_function"),
        (OUT, "return (z * v, z.max(axis=2), divergence), (", "other_quantity"),
        (OUT, "return (z * v, activity, divergence.sum()), (", "other_quantity"),
        (OUT, "return (z * v, divergence, activity), ("),
        (OUT, "return (z * v, activity, -divergence), (", "sign"),
        (OUT, "return (z * v, activity), ("),
        (SAMPLE, SAMPLE.replace("dlogit_pi + ", ""), "missing_term"),
        (SAMPLE, SAMPLE.replace(" + dlogit_theta.sum(axis=1)", ""), "missing_term"),
        (SAMPLE, SAMPLE.replace("sum(axis=0)", "mean(axis=0)"), "mean"),
        (SAMPLE, SAMPLE.replace("dlogit_theta.sum(axis=0)", "dlogit_theta"), "not_summed"),
        (DZ, "dz = dw * v", "missing_term"),
        (
            "dmu, dlog_sigma = gaussian.sample_vjp(dw * z,",
            "dmu, dlog_sigma = gaussian.sample_vjp(dw,",
            "elementwise_factor",
        ),
        (DZ, "dz = dw + masked_linear.column_activity_vjp(dactivity, largest)"),
        (DZ, "dz = masked_linear.column_activity_vjp(dactivity, largest)", "missing_term"),
        (
            "dlogit_theta + concrete.sample_vjp(dz, mask_cache)",
            "concrete.sample_vjp(dz, mask_cache)",
            "missing_term",
        ),
        ("dlogit_theta + concrete.sample_vjp(dz, mask_cache)", "dlogit_theta", "missing_term"),
    ],
    "8.4": [
        (MOMENTS, MOMENTS.replace(" * active", ""), "elementwise_factor"),
        (MOMENTS, MOMENTS.replace("mu * mask", "mu"), "elementwise_factor"),
        (MOMENTS, MOMENTS.replace("np.exp(bias_log_sigma)", "bias_log_sigma"), "other_function"),
        (
            MOMENTS,
            MOMENTS.replace("np.exp(bias_log_sigma)", "np.exp(2 * bias_log_sigma)"),
            "other_result",
        ),
        ("bias_mu * active", "bias_mu", "elementwise_factor"),
        ("bias_mu * active", "bias_mu * mask.all(axis=0)"),
        ("sigma = np.exp(log_sigma) * mask", "sigma = np.exp(log_sigma)", "elementwise_factor"),
        ("active = mask.any(axis=0)", "active = mask.mean(axis=0)"),
        (SLOPES, SLOPES.replace("dsigma * sigma,", "dsigma * mask,"), "elementwise_factor"),
        (SLOPES, SLOPES.replace("dsigma * sigma,", "dsigma * sigma**2,")),
        (SLOPES, SLOPES.replace("dmean * mask", "dmean")),
        (SLOPES, SLOPES.replace("dbias_mean * active", "dbias_mean")),
        (SLOPES, SLOPES.replace("dbias_sigma * bias_sigma", "dbias_sigma * active")),
        (SLOPES, SLOPES.replace("return dmean", "return -dmean"), "sign"),
    ],
    "8.5": [
        ("scale = np.sqrt(variance)", "scale = np.sqrt(variance + 1e-12)", "precision"),
        (DVARIANCE, "dvariance = dh * eps / (2 * scale)"),
        (NOISE, "return x @ mu + bias_mu + variance * eps, (", "other_function"),
        (NOISE, "return x @ mu + scale * eps, (", "ignored_input"),
        (NOISE, "return x @ mu + bias_mu + np.sqrt(variance + 1e-8) * eps, (", "precision"),
        (VARIANCE, "variance = x @ (sigma * sigma) + bias_sigma * bias_sigma"),
        (VARIANCE, "variance = (x * x) @ sigma + bias_sigma", "other_input"),
        (VARIANCE, "variance = (x @ sigma) ** 2 + bias_sigma * bias_sigma", "missing_term"),
        (VARIANCE, "variance = (x * x) @ (sigma * sigma)", "ignored_input"),
        (DVARIANCE, "dvariance = np.where(scale > 0, dh * eps / safe, 0)", "missing_term"),
        (DVARIANCE, "dvariance = dh * eps", "elementwise_factor"),
        (DVARIANCE, "dvariance = dh / (2 * safe)", "elementwise_factor"),
        (DX, "dx = dh @ mu.T", "missing_term"),
        (DX, "dx = dh @ mu.T + x * (dvariance @ (sigma * sigma).T)", "missing_term"),
        (DX, "dx = dh @ mu.T - 2 * x * (dvariance @ (sigma * sigma).T)", "sign"),
        ("dsigma = 2 * sigma *", "dsigma = sigma *", "constant_factor"),
        ("dbias_sigma = 2 * bias_sigma *", "dbias_sigma = 2 *", "elementwise_factor"),
        ("dmu = rows.T @ drows", "dmu = rows.T @ drows / count", "constant_factor"),
        ("        dh = dh.sum(axis=0)", "        dh = dh.mean(axis=0)", "constant_factor"),
        (
            "def apply_vjp(dh, cache, needs_dx=True):",
            "def apply_vjp(dh, cache):\n    needs_dx = True",
        ),
    ],
    "8.6": letters("b", "abc"),
    "8.7": letters("a", "abc"),
    "8.8": letters("b", ""),
    "8.9": letters("c", ""),
}
