r"""The paper's equations, one by one: where each is, what of the package computes it, and which
checks prove it.

Nothing that the paper displays or defines is missing from the table.  Sections, equation numbers
and lines of the LaTeX source are those of Kumar, Chatterjee and Rai, "Bayesian Structure Adaptation
for Continual Learning", main text and supplement.  ``print(TABLE)`` prints it; ``ibpcl check
--paper`` runs its checks and prints the verdicts.
"""

from ibpcl.paper.equation import read

# Section, line, number, kind, verdict and formula; = what of ibpcl computes it; : the checks that
# prove it.
TABLE = r"""
2.1          101          inline   proved     q(w): a mean-field posterior over the weights
    = primitives.gaussian.sample, primitives.gaussian.log_density
    : gradients/gaussian.sample, densities/gaussian.log_density
2.1          103          inline   proved     w = {theta, phi}: decoder and encoder
    = models.network.Network.forward
    : definitions/autoencoder.masked-networks, gradients/codes.Codes.forward
2.2          128          inline   proved     p_t(w) = q_{t-1}(w)
    = continual.prior.select  : definitions/algorithm.prior
2.2          130  Eq. 1   display  proved     q_t(w) = arg min KL(q(w) || q_{t-1}(w) p(D_t|w) / Z_t)
    = models.elbo.elbo, primitives.gaussian.kl  : definitions/recursion
3.1          159          inline   proved     W^l = B^l o V^l
    = primitives.masked_linear.apply, primitives.masked_weights.sample
    : definitions/masked-weights, gradients/masked_linear.apply,
    : gradients/masked_weights.sample.bernoulli
3.1          159          inline   proved     V_dk ~ N(0, sigma_0^2)
    = continual.prior.assemble  : densities/gaussian.log_density, definitions/algorithm.prior
3.1          159          inline   proved     B^l ~ IBP(alpha)
    = primitives.stick_breaking.sample_prior
    : samplers/stick_breaking.sample_prior, samplers/stick_breaking.masks,
    : divergences/stick_breaking.expected_active
3.1          159          inline   proved     W_out ~ N(0, sigma_0^2)
    = continual.prior.assemble  : definitions/algorithm.prior
3.1          165  Eq. 2   display  proved     y_n ~ Lik(W_out phi_NN(x_n))
    = primitives.likelihoods.categorical, primitives.likelihoods.gaussian,
    = models.network.Network.forward
    : densities/likelihoods.categorical, densities/likelihoods.gaussian,
    : gradients/network.Network.forward
3.1          175  Eq. 3   display  proved     nu_k ~ Beta(alpha, 1), pi_k = prod_{i<=k} nu_i
    = primitives.stick_breaking.log_probabilities, primitives.stick_breaking.sample_prior
    : definitions/sticks, samplers/stick_breaking.sample_prior,
    : gradients/stick_breaking.log_probabilities
3.1          176  Eq. 4   display  proved     B_dk ~ Bernoulli(pi_k)
    = primitives.bernoulli.log_density, primitives.stick_breaking.sample_prior
    : densities/bernoulli.log_density, samplers/stick_breaking.masks,
    : divergences/stick_breaking.expected_weights
3.2          194  Eq. 5   display  proved     q(V, B, v) = q(V) q(B|v) q(v)
    = models.elbo.elbo  : definitions/joint-divergence
3.2          196          inline   proved     q(V) = prod N(V_dk | mu_dk, sigma_dk^2)
    = primitives.gaussian.sample, primitives.gaussian.log_density
    : samplers/gaussian.sample, densities/gaussian.log_density
3.2          196          inline   proved     q(B|v) = prod Bern(B_dk | theta_dk)
    = primitives.bernoulli.log_density, primitives.concrete.sample
    : densities/bernoulli.log_density, samplers/concrete.sample
3.2          196          inline   proved     theta_dk = sigma(rho_dk + logit(pi_k))
    = primitives.stick_breaking.logit_probabilities, primitives.masked_weights.sample,
    = continual.masks.posterior_probability
    : definitions/theta, gradients/stick_breaking.logit_probabilities
3.2          196          inline   corrected  q(v) = prod Beta(v_k | nu_k1, nu_k2)
    = primitives.kumaraswamy.sample, primitives.kumaraswamy.log_density
    : errata/stick-posterior, densities/kumaraswamy.log_density, samplers/kumaraswamy.sample
3.2          198          inline   proved     Theta = {nu_k1, nu_k2, {mu_dk, sigma_dk, rho_dk}}
    = models.network.Network.layout, models.masked.sticks
    : gradients/elbo.elbo, gradients/models.masked.sticks
3.2          205  Eq. 6   display  proved     L = E_q[ln p(Y|V, B, v)] - KL(q(V, B, v) || p(V, B, v))
    = models.elbo.elbo
    : definitions/elbo, definitions/recursion, gradients/elbo.elbo
3.2          207          inline   proved     p(V, B, v) = p(V) p(B|v) p(v)
    = models.elbo.elbo  : definitions/joint-divergence
3.2          209  Eq. 7   display  proved     KL[q(V)||p(V)] + E_q(v)[KL[q(B|v)||p(B|v)]] + KL[q(v)||p(v)]
    = primitives.gaussian.kl, primitives.bernoulli.kl, primitives.kumaraswamy.kl_to_beta
    : definitions/joint-divergence, divergences/gaussian.kl, divergences/bernoulli.kl,
    : divergences/kumaraswamy.kl_to_beta
3.2          212          claim    corrected  all the KL terms have closed form
    = primitives.bernoulli.kl, primitives.concrete.kl
    : errata/mask-kl-which, divergences/concrete.kl.bound, divergences/concrete.kl.free-of-sticks
3.2          215  Eq. 8   display  corrected  L = 1/S sum_i [f_l - KL[q(B|v^i)||p(B|v^i)]] - KL_V - KL_v
    = models.elbo.elbo
    : errata/minibatch-factor, definitions/elbo, gradients/elbo.elbo
3.2          221  Eq. 9   display  proved     f_l = log Lik(Y | W_out phi_NN(X; V, B, v))
    = models.network.Network.forward, primitives.likelihoods.categorical
    : definitions/elbo, gradients/likelihoods.categorical
3.2          225          claim    corrected  Lik: Gaussian, or Bernoulli with probit or logistic link
    = primitives.likelihoods.gaussian, primitives.likelihoods.bernoulli_probit,
    = primitives.likelihoods.bernoulli_logistic, primitives.likelihoods.categorical
    : errata/link-of-ten-classes, densities/likelihoods.bernoulli_probit,
    : densities/likelihoods.bernoulli_logistic,
    : densities/likelihoods.gaussian
3.2          227          claim    corrected  unbiased reparameterized gradients for all parameters
    = primitives.gaussian.sample_vjp, primitives.kumaraswamy.sample_vjp,
    = primitives.concrete.sample_vjp
    : errata/mask-gradient, estimators/gaussian.sample.mu, estimators/gaussian.sample.log_sigma,
    : estimators/kumaraswamy.sample.a, estimators/kumaraswamy.sample.b, estimators/concrete.sample
3.3          233  Eq. 10  display  proved     L = E_q[ln p(X|Z, V, B, v)] - KL(q(Z, V, B, v) || p(Z, V, B, v))
    = models.elbo.elbo
    : definitions/autoencoder.elbo, definitions/autoencoder.bound, gradients/autoencoder.elbo.mixed,
    : gradients/autoencoder.elbo.fixed-masks
3.3          236          inline   proved     z_n ~ q(z_n | V, B, v, x_n), amortized
    = primitives.latent.sample, models.network.Network.forward
    : gradients/latent.sample, definitions/autoencoder.masked-networks, definitions/autoencoder.elbo
4.1          248  Eq. 11  display  corrected  p_t(V_dk) = B^o_dk q_{t-1}(V_dk) + (1 - B^o_dk) p_0(V_dk)
    = continual.prior.select, continual.prior.assemble
    : errata/masked-prior, definitions/masked-prior, definitions/algorithm.prior
4.1          250          inline   corrected  B^o = B^1 u B^2 ... u B^{t-1}
    = continual.masks.union  : errata/union-order, definitions/masked-prior
4.3          284          inline   proved     M^t from D_t minus C_t and M^{t-1}; M^t_pred from C_t and M^t
    = methods.npbcl.NPBCL.learn, methods.npbcl.NPBCL.predict
    : definitions/algorithm.coresets, definitions/coresets.decomposition
4.3          286          claim    proved     a coreset refines only its own task's subset of weights
    = methods.npbcl.NPBCL.predict, inference.objectives.train  : definitions/algorithm.coresets
4.5          296          claim    proved     one bit for each weight and task
    = continual.masks.unpack  : definitions/mask-storage
4.5          298          inline   proved     u_i = 1[exists d: B_di = 1]; in practice max_d B_di
    = primitives.masked_linear.column_activity
    : definitions/masked-weights, gradients/masked_linear.column_activity
4.5          301          claim    proved     fine-tuning with masks and sticks fixed
    = models.elbo.elbo, models.layers.Gaussian.forward
    : definitions/algorithm.finetuning, gradients/elbo.elbo, gradients/layers.Gaussian.forward,
    : samplers/local_linear.apply
4.6          308  Eq. 12  display  corrected  C_j = C_{j+1} prod_i 1[B_ij = 0], G = T - sum_j C_j
    = continual.expansion.growth, continual.expansion.empty_units
    : errata/expansion-start, errata/expansion-negative, definitions/algorithm.growth
6.1          335          inline   proved     accuracy of t after t, t+1, ..., and its mean over 1 ... t
    = evaluation.metrics.average_accuracy_so_far, continual.loop.learn_stream
    : definitions/metrics.average_accuracy_so_far
6.3          404          claim    corrected  at most 15 % of the connections are used for the first task
    = primitives.stick_breaking.expected_weights
    : errata/fifteen-percent, divergences/stick_breaking.expected_weights
B.1          469          inline   proved     temperature from 10 down to 0.25
    = inference.loop.geometric  : definitions/temperature
B.1          469          claim    corrected  alpha = 30, then the maximum of the posterior's a
    = methods.npbcl.NPBCL.learn  : errata/alpha-maximum, errata/stick-start
B.2          472          inline   proved     alpha = 40, 40 (encoder, decoder) and 20 (latent)
    = methods.npbcl.NPBCL.learn, methods.npbcl_settings.ImageSettings
    : definitions/autoencoder.alphas
Algorithm 1  479          step     proved     p_new <- p_0(Theta)
    = continual.prior.assemble, methods.npbcl.NPBCL.learn  : definitions/algorithm.prior
Algorithm 1  482          step     proved     update coresets
    = methods.npbcl.NPBCL.learn, continual.coresets.random  : definitions/algorithm.coresets
Algorithm 1  486          step     proved     L_t <- ELBO with prior p_new
    = models.elbo.elbo  : definitions/elbo, definitions/algorithm.prior
Algorithm 1  487          step     corrected  Theta_t <- arg min L_t
    = methods.npbcl.NPBCL.learn, inference.loop.fit  : errata/argmin-of-elbo
Algorithm 1  491          step     proved     fix the IBP parameters and the learned mask
    = methods.npbcl.NPBCL.learn  : definitions/algorithm.finetuning
Algorithm 1  492          step     corrected  Theta_t <- arg min L_t (fine-tuning)
    = models.elbo.elbo  : errata/argmin-of-elbo, gradients/elbo.elbo
Algorithm 1  494          step     proved     p_new <- q_t(Theta)
    = methods.npbcl.NPBCL.learn  : definitions/algorithm.prior
Algorithm 1  495          step     corrected  p_new <- Mask(p_new), by Eq. 11
    = continual.prior.select, continual.masks.union
    : errata/union-order, definitions/algorithm.prior
Algorithm 1  496          step     proved     perform prediction
    = methods.npbcl.NPBCL.predict, models.prediction.predict  : definitions/algorithm.prediction
C            501          claim    proved     coresets are chosen at random or by k-center greedy
    = continual.coresets.random, continual.coresets.k_center  : definitions/coresets.k_center
C            502          display  proved     p(theta|D_1:t) ~ p(theta|D_1:t \ C_t) p(C_t|theta)
    = methods.npbcl.NPBCL.predict  : definitions/coresets.decomposition
C            505          display  proved     p(theta|D_1:t \ C_t) = p(theta|D_1:t-1 \ C_{t-1}) p(D_t u ...)
    = methods.npbcl.NPBCL.learn
    : definitions/coresets.decomposition, definitions/algorithm.coresets
C            508          inline   proved     q~_t = proj(q~_{t-1} p(D_t u C_{t-1} \ C_t | theta))
    = methods.npbcl.NPBCL.learn, models.elbo.elbo
    : definitions/algorithm.coresets, definitions/recursion
C            509          inline   proved     q_t = proj(q~_t p(C_t | theta))
    = methods.npbcl.NPBCL.predict, inference.objectives.train
    : definitions/algorithm.coresets, definitions/recursion
D            512          inline   proved     E_q[L(Z)] = E_eps[L(f(phi, eps))]
    = primitives.gaussian.sample_vjp, primitives.masked_weights.sample_vjp
    : estimators/gaussian.sample.mu, estimators/masked_weights.sample.mu,
    : estimators/masked_weights.sample.rho,
    : estimators/local_linear.apply.sigma
D.1          514          inline   proved     V_k ~ N(mu_k, sigma_k^2)
    = primitives.gaussian.log_density
    : densities/gaussian.log_density, gradients/gaussian.log_density
D.1          515          display  proved     V_k = mu_k + sigma_k eps, eps ~ N(0, I)
    = primitives.gaussian.sample
    : samplers/gaussian.sample, gradients/gaussian.sample, samplers/noise.normal
D.2          518          claim    proved     Kumaraswamy = Beta where a shape is 1
    = primitives.kumaraswamy.log_density  : densities/kumaraswamy.is-beta
D.2          519          inline   proved     p(nu; a, b) = a b nu^{a-1} (1 - nu^a)^{b-1}
    = primitives.kumaraswamy.log_density
    : densities/kumaraswamy.log_density, gradients/kumaraswamy.log_density,
    : divergences/kumaraswamy.mean
D.2          520          display  proved     nu = (1 - u^{1/b})^{1/a}, u ~ U(0, 1)
    = primitives.kumaraswamy.sample
    : samplers/kumaraswamy.sample, gradients/kumaraswamy.sample, samplers/noise.uniform
D.2          523  Eq. 13  display  corrected  KL(Kumaraswamy(a, b) || Beta(alpha, beta)) = ... - b/(1-b) ...
    = primitives.kumaraswamy.kl_to_beta, primitives.kumaraswamy.kl_to_general_beta
    : errata/kumaraswamy-kl-constant, errata/kumaraswamy-kl-at-prior,
    : divergences/kumaraswamy.kl_to_beta,
    : divergences/kumaraswamy.kl_to_general_beta, divergences/kumaraswamy.mean-log,
    : gradients/kumaraswamy.kl_to_beta
D.2          527          claim    corrected  the first 11 terms of the series suffice
    = primitives.kumaraswamy.kl_to_general_beta  : errata/kumaraswamy-kl-11-terms
D.3          530          display  proved     B_k = softmax_k((log alpha + g) / lambda), g ~ G(0, 1)
    = primitives.concrete.sample  : definitions/gumbel-softmax
D.3          531          inline   corrected  alpha_k: the class probability
    = primitives.concrete.sample  : errata/mask-odds
D.3          532          display  proved     Y_k = (log alpha_k + log(u_k / (1 - u_k))) / lambda
    = primitives.concrete.sample, noise.logistic
    : samplers/concrete.sample.logit, samplers/noise.logistic
D.3          533          inline   proved     B_k = sigma(Y_k)
    = primitives.concrete.sample, numerics.sigmoid
    : samplers/concrete.sample, gradients/concrete.sample
D.3          534          inline   corrected  KL = difference of the log densities
    = primitives.concrete.kl_monte_carlo, primitives.concrete.kl
    : errata/mask-kl-temperatures, errata/mask-kl-sampled, estimators/concrete.kl_monte_carlo,
    : estimators/concrete.kl_monte_carlo.gradient, divergences/concrete.kl, gradients/concrete.kl
D.3          536          display  corrected  log q(B) = log l - l Y + log alpha - 2 log(1 + e^{-l Y + log alpha})
    = primitives.concrete.log_density_logit, primitives.concrete.log_density
    : errata/mask-density, densities/concrete.log_density_logit, densities/concrete.log_density,
    : densities/concrete.jacobian, gradients/concrete.log_density_logit
E            542          inline   proved     alpha = max(alpha, max(a_nu))
    = methods.npbcl.NPBCL.learn  : definitions/algorithm.alpha
E.1          544          claim    proved     alpha grows by a schedule across tasks
    = methods.npbcl.NPBCL.learn  : definitions/algorithm.alpha-increment
E.2          546          inline   corrected  alpha ~ Gamma, posterior Weibull; KL of v by sampling
    = primitives.weibull.sample, primitives.weibull.kl_to_gamma,
    = primitives.kumaraswamy.expected_kl_to_beta
    : errata/learned-alpha-sampled, errata/gamma-divergence, samplers/weibull.sample,
    : divergences/weibull.kl_to_gamma,
    : divergences/kumaraswamy.expected_kl_to_beta, gradients/weibull.kl_to_gamma,
    : gradients/elbo.learned-alpha
F.2          593          display  corrected  Acc = sum_{i>=j} R_ij / (N (N - 1) / 2)
    = evaluation.metrics.mean_accuracy_over_pairs
    : errata/acc-denominator, definitions/metrics.mean_accuracy_over_pairs
F.2          594          inline   proved     R_ij: accuracy on task j after task i
    = continual.loop.learn_stream, evaluation.metrics.as_accuracy_matrix
    : definitions/metrics.average_accuracy_so_far
F.2          603          display  proved     FWT = sum_{i<j} R_ij / (N (N - 1) / 2)
    = evaluation.metrics.forward_transfer  : definitions/metrics.forward_transfer
F.2          606          display  proved     BWT = sum_{i>j} (R_ij - R_jj) / (N (N - 1) / 2)
    = evaluation.metrics.backward_transfer  : definitions/metrics.backward_transfer
F.2          612          claim    corrected  table: Acc, FWT and BWT of five methods
    = evaluation.metrics.average_accuracy, evaluation.metrics.backward_transfer
    : errata/acc-column, errata/acc-unit, errata/bwt-exponent, errata/bwt-naive
G            628          display  proved     B^l ~ IBP(alpha)
    = primitives.stick_breaking.sample_prior
    : samplers/stick_breaking.sample_prior, samplers/stick_breaking.masks
G            629          display  proved     V_dk^l ~ N(0, sigma_0^2)
    = continual.prior.assemble  : densities/gaussian.log_density
G            630          display  proved     W^l = B^l o V^l
    = primitives.masked_linear.apply  : definitions/masked-weights
G            631          display  proved     W_out ~ N(0, sigma_0^2)
    = continual.prior.assemble  : densities/gaussian.log_density
G            632          display  proved     Z_n ~ N(mu_z, sigma_z^2)
    = models.codes.Codes.prior, primitives.latent.kl
    : definitions/autoencoder.latent-divergence, gradients/latent.kl,
    : gradients/autoencoder.elbo.learned-prior
G            633          display  proved     X_n ~ Bernoulli(sigma(W_out phi_NN(W, Z_n)))
    = models.likelihoods.Bernoulli.log_density, primitives.likelihoods.bernoulli_logistic
    : densities/likelihoods.bernoulli_logistic, definitions/autoencoder.elbo,
    : definitions/autoencoder.masked-networks
G            636          display  proved     q(Z, V, B, v) = q(Z|B, V, nu, X) q(V) q(B|v) q(v)
    = models.elbo.elbo
    : definitions/autoencoder.elbo, definitions/joint-divergence, definitions/autoencoder.bound
G            637          inline   proved     q(Z|B, V, nu, X) = prod N(mu_phi, sigma_phi^2)
    = primitives.latent.sample, models.network.Network.forward
    : gradients/latent.sample, definitions/autoencoder.latent-divergence,
    : definitions/autoencoder.masked-networks
"""

EQUATIONS = read(TABLE)
