r"""The paper's equations: where each one is, the functions that compute it, and its checks.

The table lists everything that the paper displays or defines. Sections, equation numbers and lines
of the LaTeX source are those of Kumar, Chatterjee and Rai, "Bayesian Structure Adaptation for
Continual Learning" (the arXiv title), main text and supplement. ``print(TABLE)`` prints it;
``ibpcl check --paper`` runs its checks and prints the verdicts.
"""

from ibpcl.paper.equation import read

# First line: section, source line, number, kind, status (see equation.STATUSES) and formula.
# Then $ the formula in TeX, = the functions of ibpcl that compute it, : the checks of it.
TABLE = r"""
2.1          101          inline   implemented  q(w): a mean-field posterior over the weights
    $ q(\boldsymbol w) = \prod_i q(w_i)
    = primitives.gaussian.sample, primitives.gaussian.log_density
    : gradients/gaussian.sample, densities/gaussian.log_density
2.1          103          inline   implemented  w = {theta, phi}: decoder and encoder
    $ \boldsymbol w = \{\theta, \phi\}, \text{ decoder and encoder}
    = models.network.Network.forward
    : definitions/autoencoder.masked-networks, gradients/codes.Codes.forward
2.1          103          claim    clarified    a VAE infers a posterior over the encoder's parameters
    = primitives.latent.sample, primitives.latent.kl
    : errata/autoencoder-inference, definitions/autoencoder.latent-divergence
2.1          103          claim    clarified    a posterior over the weights of encoder and decoder
    = models.elbo.elbo, models.codes.Codes.prior
    : errata/encoder-weights, definitions/autoencoder.bound
2.2          128          inline   implemented  p_t(w) = q_{t-1}(w)
    $ p_t(\boldsymbol w) = q_{t-1}(\boldsymbol w)
    = continual.prior.select  : definitions/algorithm.prior
2.2          130  Eq. 1   display  checked      q_t(w) = arg min KL(q(w) || q_{t-1}(w) p(D_t|w) / Z_t)
    $ q_t(\boldsymbol w) = \arg\min_q \mathrm{KL}\bigl(q(\boldsymbol w) \,\|\, q_{t-1}(\boldsymbol w)\, p(D_t
    $ \mid \boldsymbol w) / Z_t\bigr)
    = models.elbo.elbo, primitives.gaussian.kl  : definitions/recursion
3.1          159          inline   checked      W^l = B^l o V^l
    $ W^l = B^l \odot V^l
    = primitives.masked_linear.apply, primitives.masked_weights.sample
    : definitions/masked-weights, gradients/masked_linear.apply,
    : gradients/masked_weights.sample.bernoulli
3.1          159          inline   implemented  V_dk ~ N(0, sigma_0^2)
    $ V_{dk} \sim \mathcal{N}(0, \sigma_0^2)
    = continual.prior.assemble  : densities/gaussian.log_density, definitions/algorithm.prior
3.1          159          inline   consistent   B^l ~ IBP(alpha)
    $ B^l \sim \mathrm{IBP}(\alpha)
    = primitives.stick_breaking.sample_prior
    : samplers/stick_breaking.sample_prior, samplers/stick_breaking.masks,
    : divergences/stick_breaking.expected_active
3.1          159          inline   implemented  W_out ~ N(0, sigma_0^2)
    $ W_{\mathrm{out}} \sim \mathcal{N}(0, \sigma_0^2)
    = continual.prior.assemble  : definitions/algorithm.prior
3.1          165  Eq. 2   display  implemented  y_n ~ Lik(W_out phi_NN(x_n))
    $ y_n \sim \mathrm{Lik}(W_{\mathrm{out}}\, \phi_{NN}(x_n))
    = primitives.likelihoods.categorical, primitives.likelihoods.gaussian,
    = models.network.Network.forward
    : densities/likelihoods.categorical, densities/likelihoods.gaussian,
    : gradients/network.Network.forward
3.1          175  Eq. 3   display  consistent   nu_k ~ Beta(alpha, 1), pi_k = prod_{i<=k} nu_i
    $ \nu_k \sim \mathrm{Beta}(\alpha, 1), \quad \pi_k = \prod_{i \le k} \nu_i
    = primitives.stick_breaking.log_probabilities, primitives.stick_breaking.sample_prior
    : definitions/sticks, samplers/stick_breaking.sample_prior,
    : gradients/stick_breaking.log_probabilities
3.1          176  Eq. 4   display  consistent   B_dk ~ Bernoulli(pi_k)
    $ B_{dk} \sim \mathrm{Bernoulli}(\pi_k)
    = primitives.bernoulli.log_density, primitives.stick_breaking.sample_prior
    : densities/bernoulli.log_density, samplers/stick_breaking.masks,
    : divergences/stick_breaking.expected_weights
3.2          194  Eq. 5   display  implemented  q(V, B, v) = q(V) q(B|v) q(v)
    $ q(V, B, v) = q(V)\, q(B \mid v)\, q(v)
    = models.elbo.elbo  : definitions/joint-divergence
3.2          196          inline   implemented  q(V) = prod N(V_dk | mu_dk, sigma_dk^2)
    $ q(V) = \prod_{d,k} \mathcal{N}(V_{dk} \mid \mu_{dk}, \sigma_{dk}^2)
    = primitives.gaussian.sample, primitives.gaussian.log_density
    : samplers/gaussian.sample, densities/gaussian.log_density
3.2          196          inline   implemented  q(B|v) = prod Bern(B_dk | theta_dk)
    $ q(B \mid v) = \prod_{d,k} \mathrm{Bern}(B_{dk} \mid \theta_{dk})
    = primitives.bernoulli.log_density, primitives.concrete.sample
    : densities/bernoulli.log_density, samplers/concrete.sample
3.2          196          inline   checked      theta_dk = sigma(rho_dk + logit(pi_k))
    $ \theta_{dk} = \sigma(\rho_{dk} + \operatorname{logit} \pi_k)
    = primitives.stick_breaking.logit_probabilities, primitives.masked_weights.sample,
    = continual.masks.posterior_probability
    : definitions/theta, gradients/stick_breaking.logit_probabilities
3.2          196          inline   clarified    q(v) = prod Beta(v_k | nu_k1, nu_k2)
    $ q(v) = \prod_k \mathrm{Beta}(v_k \mid \nu_{k1}, \nu_{k2})
    = primitives.kumaraswamy.sample, primitives.kumaraswamy.log_density
    : errata/stick-posterior, densities/kumaraswamy.log_density, samplers/kumaraswamy.sample
3.2          198          inline   implemented  Theta = {nu_k1, nu_k2, {mu_dk, sigma_dk, rho_dk}}
    $ \Theta = \{\nu_{k1}, \nu_{k2}, \{\mu_{dk}, \sigma_{dk}, \rho_{dk}\}_d\}_k
    = models.network.Network.layout, models.masked.sticks
    : gradients/elbo.elbo, gradients/models.masked.sticks
3.2          205  Eq. 6   display  checked      L = E_q[ln p(Y|V, B, v)] - KL(q(V, B, v) || p(V, B, v))
    $ \mathcal{L} = \mathbb{E}_q[\ln p(Y \mid V, B, v)] - \mathrm{KL}\bigl(q(V, B, v) \,\|\, p(V, B, v)\bigr)
    = models.elbo.elbo
    : definitions/elbo, definitions/recursion, gradients/elbo.elbo
3.2          207          inline   implemented  p(V, B, v) = p(V) p(B|v) p(v)
    $ p(V, B, v) = p(V)\, p(B \mid v)\, p(v)
    = models.elbo.elbo  : definitions/joint-divergence
3.2          207          claim    clarified    the posterior has a mean-field factorization
    = primitives.stick_breaking.logit_probabilities, continual.masks.posterior_probability
    : errata/structured-mean-field, definitions/joint-divergence, definitions/theta
3.2          209  Eq. 7   display  checked      KL[q(V)||p(V)] + E_q(v)[KL[q(B|v)||p(B|v)]] + KL[q(v)||p(v)]
    $ \mathrm{KL}[q(V) \| p(V)] + \mathbb{E}_{q(v)}\bigl[\mathrm{KL}[q(B \mid v) \| p(B \mid v)]\bigr] +
    $ \mathrm{KL}[q(v) \| p(v)]
    = primitives.gaussian.kl, primitives.bernoulli.kl, primitives.kumaraswamy.kl_to_beta
    : definitions/joint-divergence, divergences/gaussian.kl, divergences/bernoulli.kl,
    : divergences/kumaraswamy.kl_to_beta
3.2          212          claim    clarified    all the KL terms have closed form
    = primitives.bernoulli.kl, primitives.concrete.kl
    : errata/mask-kl-which, divergences/concrete.kl.bound, divergences/concrete.kl.free-of-sticks
3.2          215  Eq. 8   display  clarified    L = 1/S sum_i [f_l - KL[q(B|v^i)||p(B|v^i)]] - KL_V - KL_v
    $ \mathcal{L} = \frac1S \sum_i \bigl[f_l - \mathrm{KL}[q(B \mid v^i) \| p(B \mid v^i)]\bigr] -
    $ \mathrm{KL}_V - \mathrm{KL}_v
    = models.elbo.elbo
    : errata/minibatch-factor, definitions/elbo, gradients/elbo.elbo
3.2          221  Eq. 9   display  checked      f_l = log Lik(Y | W_out phi_NN(X; V, B, v))
    $ f_l = \log \mathrm{Lik}\bigl(Y \mid W_{\mathrm{out}}\, \phi_{NN}(X; V, B, v)\bigr)
    = models.network.Network.forward, primitives.likelihoods.categorical
    : definitions/elbo, gradients/likelihoods.categorical
3.2          225          claim    clarified    Lik: Gaussian, or Bernoulli with probit or logistic link
    = primitives.likelihoods.gaussian, primitives.likelihoods.bernoulli_probit,
    = primitives.likelihoods.bernoulli_logistic, primitives.likelihoods.categorical
    : errata/link-of-ten-classes, densities/likelihoods.bernoulli_probit,
    : densities/likelihoods.bernoulli_logistic,
    : densities/likelihoods.gaussian
3.2          227          claim    clarified    unbiased reparameterized gradients for all parameters
    = primitives.gaussian.sample_vjp, primitives.kumaraswamy.sample_vjp,
    = primitives.concrete.sample_vjp
    : errata/mask-gradient, estimators/gaussian.sample.mu, estimators/gaussian.sample.log_sigma,
    : estimators/kumaraswamy.sample.a, estimators/kumaraswamy.sample.b, estimators/concrete.sample
3.3          233  Eq. 10  display  checked      L = E_q[ln p(X|Z, V, B, v)] - KL(q(Z, V, B, v) || p(Z, V, B, v))
    $ \mathcal{L} = \mathbb{E}_q[\ln p(X \mid Z, V, B, v)] - \mathrm{KL}\bigl(q(Z, V, B, v) \,\|\, p(Z, V, B,
    $ v)\bigr)
    = models.elbo.elbo
    : definitions/autoencoder.elbo, definitions/autoencoder.bound, gradients/autoencoder.elbo.mixed,
    : gradients/autoencoder.elbo.fixed-masks
3.3          236          inline   implemented  z_n ~ q(z_n | V, B, v, x_n), amortized
    $ z_n \sim q(z_n \mid V, B, v, x_n), \text{ amortized}
    = primitives.latent.sample, models.network.Network.forward
    : gradients/latent.sample, definitions/autoencoder.masked-networks, definitions/autoencoder.elbo
4.1          248  Eq. 11  display  clarified    p_t(V_dk) = B^o_dk q_{t-1}(V_dk) + (1 - B^o_dk) p_0(V_dk)
    $ p_t(V_{dk}) = B^o_{dk}\, q_{t-1}(V_{dk}) + (1 - B^o_{dk})\, p_0(V_{dk})
    = continual.prior.select, continual.prior.assemble
    : errata/masked-prior, definitions/masked-prior, definitions/algorithm.prior
4.1          250          inline   clarified    B^o = B^1 u B^2 ... u B^{t-1}
    $ B^o = B^1 \cup B^2 \cup \dots \cup B^{t-1}
    = continual.masks.union  : errata/union-order, definitions/masked-prior
4.1          250          claim    clarified    p_0: a normal or a uniform distribution
    = continual.prior.assemble, models.elbo.Flat
    : errata/uniform-prior, gradients/elbo.flat-prior-on-half
4.3          284          inline   implemented  M^t from D_t minus C_t and M^{t-1}; M^t_pred from C_t and M^t
    $ M^t \text{ from } D_t \setminus C_t \text{ and } M^{t-1}; \quad M^t_{\mathrm{pred}} \text{ from } C_t
    $ \text{ and } M^t
    = methods.npbcl.NPBCL.learn, methods.npbcl.NPBCL.predict
    : definitions/algorithm.coresets, definitions/coresets.decomposition
4.3          286          claim    implemented  a coreset refines only its own task's subset of weights
    = methods.npbcl.NPBCL.predict, inference.objectives.train  : definitions/algorithm.coresets
4.5          296          claim    implemented  one bit for each weight and task
    = continual.masks.unpack  : definitions/mask-storage
4.5          298          inline   checked      u_i = 1[exists d: B_di = 1]; in practice max_d B_di
    $ u_i = \mathbb{1}[\exists d: B_{di} = 1]; \text{ in practice } \max_d B_{di}
    = primitives.masked_linear.column_activity
    : definitions/masked-weights, gradients/masked_linear.column_activity
4.5          301          claim    implemented  fine-tuning with masks and sticks fixed
    = models.elbo.elbo, models.layers.Gaussian.forward
    : definitions/algorithm.finetuning, gradients/elbo.elbo, gradients/layers.Gaussian.forward,
    : samplers/local_linear.apply
4.6          306          claim    clarified    the last columns of the mask tend to be all zeros
    = primitives.stick_breaking.expected_active_units
    : errata/ibp-empty-columns, divergences/stick_breaking.expected_active
4.6          308  Eq. 12  display  clarified    C_j = C_{j+1} prod_i 1[B_ij = 0], G = T - sum_j C_j
    $ C_j = C_{j+1} \prod_i \mathbb{1}[B_{ij} = 0], \quad G = T - \sum_j C_j
    = continual.expansion.growth, continual.expansion.empty_units, methods.npbcl.leave_empty
    : errata/expansion-start, errata/expansion-negative, definitions/algorithm.growth
6.1          335          inline   checked      accuracy of t after t, t+1, ..., and its mean over 1 ... t
    = evaluation.metrics.average_accuracy_so_far, continual.loop.learn_stream
    : definitions/metrics.average_accuracy_so_far
6.3          404          claim    clarified    at most 15 % of the connections are used for the first task
    = primitives.stick_breaking.expected_weights
    : errata/fifteen-percent, divergences/stick_breaking.expected_weights
B.1          469          inline   implemented  temperature from 10 down to 0.25
    = inference.loop.geometric  : definitions/temperature
B.1          469          claim    clarified    alpha = 30, then the maximum of the posterior's a
    = methods.npbcl.NPBCL.learn  : errata/alpha-maximum, errata/stick-start
B.2          472          inline   implemented  alpha = 40, 40 (encoder, decoder) and 20 (latent)
    = methods.npbcl.NPBCL.learn, methods.npbcl_settings.ImageSettings
    : definitions/autoencoder.alphas
Algorithm 1  479          step     implemented  p_new <- p_0(Theta)
    $ p_{\mathrm{new}} \leftarrow p_0(\Theta)
    = continual.prior.assemble, methods.npbcl.NPBCL.learn  : definitions/algorithm.prior
Algorithm 1  482          step     implemented  update coresets
    = methods.npbcl.NPBCL.learn, continual.coresets.random  : definitions/algorithm.coresets
Algorithm 1  486          step     checked      L_t <- ELBO with prior p_new
    $ \mathcal{L}_t \leftarrow \text{ELBO with prior } p_{\mathrm{new}}
    = models.elbo.elbo  : definitions/elbo, definitions/algorithm.prior
Algorithm 1  487          step     clarified    Theta_t <- arg min L_t
    $ \Theta_t \leftarrow \arg\min \mathcal{L}_t
    = methods.npbcl.NPBCL.learn, inference.loop.fit  : errata/argmin-of-elbo
Algorithm 1  491          step     implemented  fix the IBP parameters and the learned mask
    = methods.npbcl.NPBCL.learn  : definitions/algorithm.finetuning
Algorithm 1  492          step     clarified    Theta_t <- arg min L_t (fine-tuning)
    $ \Theta_t \leftarrow \arg\min \mathcal{L}_t \text{ (fine-tuning)}
    = models.elbo.elbo  : errata/argmin-of-elbo, gradients/elbo.elbo
Algorithm 1  494          step     implemented  p_new <- q_t(Theta)
    $ p_{\mathrm{new}} \leftarrow q_t(\Theta)
    = methods.npbcl.NPBCL.learn  : definitions/algorithm.prior
Algorithm 1  495          step     clarified    p_new <- Mask(p_new), by Eq. 11
    $ p_{\mathrm{new}} \leftarrow \mathrm{Mask}(p_{\mathrm{new}}), \text{ by Eq. 11}
    = continual.prior.select, continual.masks.union
    : errata/union-order, definitions/algorithm.prior
Algorithm 1  496          step     implemented  perform prediction
    = methods.npbcl.NPBCL.predict, models.prediction.predict  : definitions/algorithm.prediction
C            501          claim    implemented  coresets are chosen at random or by k-center greedy
    = continual.coresets.random, continual.coresets.k_center, continual.coresets.reselect
    : definitions/coresets.k_center, definitions/algorithm.coreset-recursion
C            502          display  checked      p(theta|D_1:t) ~ p(theta|D_1:t \ C_t) p(C_t|theta)
    $ p(\theta \mid D_{1:t}) \propto p(\theta \mid D_{1:t} \setminus C_t)\, p(C_t \mid \theta)
    = methods.npbcl.NPBCL.predict  : definitions/coresets.decomposition
C            505          display  corrected    p(theta|D_1:t \ C_t) = p(theta|D_1:t-1 \ C_{t-1}) p(D_t u ...)
    $ p(\theta \mid D_{1:t} \setminus C_t) = p(\theta \mid D_{1:t-1} \setminus C_{t-1})\, p(D_t \cup C_{t-1}
    $ \setminus C_t \mid \theta)
    = methods.npbcl.update_coresets, continual.coresets.reselect
    : errata/coreset-proportional, definitions/coresets.recursion,
    : definitions/coresets.decomposition, definitions/algorithm.coreset-recursion
C            508          inline   implemented    q~_t = proj(q~_{t-1} p(D_t u C_{t-1} \ C_t | theta))
    $ \tilde q_t = \mathrm{proj}\bigl(\tilde q_{t-1}\, p(D_t \cup C_{t-1} \setminus C_t \mid \theta)\bigr)
    = methods.npbcl.take_in, methods.vcl.update_coresets, models.elbo.elbo
    : definitions/coresets.recursion, definitions/algorithm.coreset-recursion,
    : definitions/recursion
C            509          inline   implemented  q_t = proj(q~_t p(C_t | theta))
    $ q_t = \mathrm{proj}\bigl(\tilde q_t\, p(C_t \mid \theta)\bigr)
    = methods.npbcl.NPBCL.predict, inference.objectives.train
    : definitions/algorithm.coresets, definitions/recursion
D            512          inline   consistent   E_q[L(Z)] = E_eps[L(f(phi, eps))]
    $ \mathbb{E}_q[L(Z)] = \mathbb{E}_\epsilon[L(f(\phi, \epsilon))]
    = primitives.gaussian.sample_vjp, primitives.masked_weights.sample_vjp
    : estimators/gaussian.sample.mu, estimators/masked_weights.sample.mu,
    : estimators/masked_weights.sample.rho,
    : estimators/local_linear.apply.sigma
D.1          514          inline   checked      V_k ~ N(mu_k, sigma_k^2)
    $ V_k \sim \mathcal{N}(\mu_k, \sigma_k^2)
    = primitives.gaussian.log_density
    : densities/gaussian.log_density, gradients/gaussian.log_density
D.1          515          display  consistent   V_k = mu_k + sigma_k eps, eps ~ N(0, I)
    $ V_k = \mu_k + \sigma_k\, \epsilon, \quad \epsilon \sim \mathcal{N}(0, I)
    = primitives.gaussian.sample
    : samplers/gaussian.sample, gradients/gaussian.sample, samplers/noise.normal
D.2          518          claim    checked      Kumaraswamy = Beta where a shape is 1
    = primitives.kumaraswamy.log_density  : densities/kumaraswamy.is-beta
D.2          519          inline   checked      p(nu; a, b) = a b nu^{a-1} (1 - nu^a)^{b-1}
    $ p(\nu; a, b) = a b\, \nu^{a-1} (1 - \nu^a)^{b-1}
    = primitives.kumaraswamy.log_density
    : densities/kumaraswamy.log_density, gradients/kumaraswamy.log_density,
    : divergences/kumaraswamy.mean
D.2          520          display  consistent   nu = (1 - u^{1/b})^{1/a}, u ~ U(0, 1)
    $ \nu = (1 - u^{1/b})^{1/a}, \quad u \sim U(0, 1)
    = primitives.kumaraswamy.sample
    : samplers/kumaraswamy.sample, gradients/kumaraswamy.sample, samplers/noise.uniform
D.2          523  Eq. 13  display  corrected    KL(Kumaraswamy(a, b) || Beta(alpha, beta)) = ... - b/(1-b) ...
    $ \mathrm{KL}\bigl(\mathrm{Kumaraswamy}(a, b) \,\|\, \mathrm{Beta}(\alpha, \beta)\bigr) = \dots -
    $ \frac{b}{1-b} \dots
    = primitives.kumaraswamy.kl_to_beta, primitives.kumaraswamy.kl_to_general_beta
    : errata/kumaraswamy-kl-constant, errata/kumaraswamy-kl-at-prior,
    : divergences/kumaraswamy.kl_to_beta,
    : divergences/kumaraswamy.kl_to_general_beta, divergences/kumaraswamy.mean-log,
    : gradients/kumaraswamy.kl_to_beta
D.2          527          claim    clarified    the first 11 terms of the series suffice
    = primitives.kumaraswamy.kl_to_general_beta  : errata/kumaraswamy-kl-11-terms
D.3          530          display  consistent   B_k = softmax_k((log alpha + g) / lambda), g ~ G(0, 1)
    $ B_k = \mathrm{softmax}_k\bigl((\log\alpha + g) / \lambda\bigr), \quad g \sim G(0, 1)
    = primitives.concrete.sample  : definitions/gumbel-softmax
D.3          531          inline   clarified    alpha_k: the class probability
    $ \alpha_k \text{: the class probability}
    = primitives.concrete.sample  : errata/mask-odds
D.3          532          display  consistent   Y_k = (log alpha_k + log(u_k / (1 - u_k))) / lambda
    $ Y_k = \bigl(\log\alpha_k + \log\tfrac{u_k}{1 - u_k}\bigr) / \lambda
    = primitives.concrete.sample, noise.logistic
    : samplers/concrete.sample.logit, samplers/noise.logistic
D.3          533          inline   consistent   B_k = sigma(Y_k)
    $ B_k = \sigma(Y_k)
    = primitives.concrete.sample, numerics.sigmoid
    : samplers/concrete.sample, gradients/concrete.sample
D.3          534          inline   clarified    KL = difference of the log densities
    $ \mathrm{KL} \approx \log q(B) - \log p(B), \text{ averaged over samples}
    = primitives.concrete.kl_monte_carlo, primitives.concrete.kl
    : errata/mask-kl-temperatures, errata/mask-kl-sampled, estimators/concrete.kl_monte_carlo,
    : estimators/concrete.kl_monte_carlo.gradient, divergences/concrete.kl, gradients/concrete.kl
D.3          536          display  corrected    log q(B) = log l - l Y + log alpha - 2 log(1 + e^{-l Y + log alpha})
    $ \log q(B) = \log\lambda - \lambda Y + \log\alpha - 2 \log(1 + e^{-\lambda Y + \log\alpha})
    = primitives.concrete.log_density_logit, primitives.concrete.log_density
    : errata/mask-density, densities/concrete.log_density_logit, densities/concrete.log_density,
    : densities/concrete.jacobian, gradients/concrete.log_density_logit
E            542          inline   implemented  alpha = max(alpha, max(a_nu))
    $ \alpha = \max(\alpha, \max a_\nu)
    = methods.npbcl.NPBCL.learn  : definitions/algorithm.alpha
E.1          544          claim    implemented  alpha grows by a schedule across tasks
    = methods.npbcl.NPBCL.learn  : definitions/algorithm.alpha-increment
E.2          546          inline   corrected    alpha ~ Gamma, posterior Weibull; KL of v by sampling
    = primitives.weibull.sample, primitives.weibull.kl_to_gamma,
    = primitives.kumaraswamy.expected_kl_to_beta
    : errata/learned-alpha-sampled, errata/gamma-divergence, samplers/weibull.sample,
    : divergences/weibull.kl_to_gamma,
    : divergences/kumaraswamy.expected_kl_to_beta, gradients/weibull.kl_to_gamma,
    : gradients/elbo.learned-alpha
F.2          593          display  corrected    Acc = sum_{i>=j} R_ij / (N (N - 1) / 2)
    $ \mathrm{Acc} = \frac{\sum_{i \ge j} R_{ij}}{N(N-1)/2}
    = evaluation.metrics.mean_accuracy_over_pairs
    : errata/acc-denominator, definitions/metrics.mean_accuracy_over_pairs
F.2          594          inline   implemented  R_ij: accuracy on task j after task i
    $ R_{ij} \text{: accuracy on task } j \text{ after task } i
    = continual.loop.learn_stream, evaluation.metrics.as_accuracy_matrix
    : definitions/metrics.average_accuracy_so_far
F.2          603          display  checked      FWT = sum_{i<j} R_ij / (N (N - 1) / 2)
    $ \mathrm{FWT} = \frac{\sum_{i < j} R_{ij}}{N(N-1)/2}
    = evaluation.metrics.forward_transfer  : definitions/metrics.forward_transfer
F.2          606          display  checked      BWT = sum_{i>j} (R_ij - R_jj) / (N (N - 1) / 2)
    $ \mathrm{BWT} = \frac{\sum_{i > j} (R_{ij} - R_{jj})}{N(N-1)/2}
    = evaluation.metrics.backward_transfer  : definitions/metrics.backward_transfer
F.2          612          claim    corrected    table: Acc, FWT and BWT of five methods
    = evaluation.metrics.average_accuracy, evaluation.metrics.backward_transfer
    : errata/acc-column, errata/acc-unit, errata/bwt-exponent, errata/bwt-naive
F.2          624          claim    implemented  FWT by a linear classifier on the representations of future tasks
    = evaluation.linear_probe.fit, evaluation.linear_probe.representation
    : gradients/linear_probe.objective
G            628          display  consistent   B^l ~ IBP(alpha)
    $ B^l \sim \mathrm{IBP}(\alpha)
    = primitives.stick_breaking.sample_prior
    : samplers/stick_breaking.sample_prior, samplers/stick_breaking.masks
G            629          display  implemented  V_dk^l ~ N(0, sigma_0^2)
    $ V^l_{dk} \sim \mathcal{N}(0, \sigma_0^2)
    = continual.prior.assemble  : densities/gaussian.log_density
G            630          display  checked      W^l = B^l o V^l
    $ W^l = B^l \odot V^l
    = primitives.masked_linear.apply  : definitions/masked-weights
G            631          display  implemented  W_out ~ N(0, sigma_0^2)
    $ W_{\mathrm{out}} \sim \mathcal{N}(0, \sigma_0^2)
    = continual.prior.assemble  : densities/gaussian.log_density
G            632          display  checked      Z_n ~ N(mu_z, sigma_z^2)
    $ Z_n \sim \mathcal{N}(\mu_z, \sigma_z^2)
    = models.codes.Codes.prior, primitives.latent.kl
    : definitions/autoencoder.latent-divergence, gradients/latent.kl,
    : gradients/autoencoder.elbo.learned-prior
G            633          display  checked      X_n ~ Bernoulli(sigma(W_out phi_NN(W, Z_n)))
    $ X_n \sim \mathrm{Bernoulli}\bigl(\sigma(W_{\mathrm{out}}\, \phi_{NN}(W, Z_n))\bigr)
    = models.likelihoods.Bernoulli.log_density, primitives.likelihoods.bernoulli_logistic
    : densities/likelihoods.bernoulli_logistic, definitions/autoencoder.elbo,
    : definitions/autoencoder.masked-networks
G            636          display  implemented  q(Z, V, B, v) = q(Z|B, V, nu, X) q(V) q(B|v) q(v)
    $ q(Z, V, B, v) = q(Z \mid B, V, \nu, X)\, q(V)\, q(B \mid v)\, q(v)
    = models.elbo.elbo
    : definitions/autoencoder.elbo, definitions/joint-divergence, definitions/autoencoder.bound
G            637          inline   implemented  q(Z|B, V, nu, X) = prod N(mu_phi, sigma_phi^2)
    $ q(Z \mid B, V, \nu, X) = \prod_n \mathcal{N}(\mu_{\phi_{NN}}, \sigma^2_{\phi_{NN}})
    = primitives.latent.sample, models.network.Network.forward
    : gradients/latent.sample, definitions/autoencoder.latent-divergence,
    : definitions/autoencoder.masked-networks
"""

EQUATIONS = read(TABLE)
