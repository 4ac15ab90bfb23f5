"""The command ``ibpcl bench``: measure the gradient step and print a table."""

from pathlib import Path

from ibpcl import console, storage
from ibpcl.bench import figure, measure
from ibpcl.bench.problem import images

# Key, description, upper or lower limit, target.
TARGETS = (
    ("step_over_products", "step over its dense products, ten classes", "<=", 1.0),
    ("step_over_products_two_classes", "the same, two classes", "<=", 1.0),
    ("step_over_products_dense", "the same, dense inputs", "<=", 1.35),
    ("torch_eager_over_step", "PyTorch eager over step", ">=", 3.0),
    ("torch_compile_over_step", "torch.compile over step", ">=", 3.0),
    ("jax_over_step", "JAX jit over step", ">=", 4.0),
    ("noise_speedup", "numpy.random.Generator over noise", ">=", 10.0),
    ("peak_step_mb", "memory of a step, MB", "<=", 150.0),
    ("vae_step_over_products", "autoencoder: step over its dense products", "<=", 1.5),
    ("convolution_step_over_products", "convolutions: step over its products", "<=", 2.0),
    ("convolution_torch_eager_over_step", "convolutions: PyTorch eager over step", ">=", 1.0),
    ("import_s", "import ibpcl, s", "<=", 0.3),
    ("compile_cold_s", "first step after installing, s", "<=", 30.0),
    ("compile_cached_s", "first step of a process, s", "<=", 2.0),
)


def execute(options):
    """Measure, print and write the results.

    Parameters
    ----------
    options : argparse.Namespace
        The options of ``ibpcl bench``.
    """
    plan = measure.QUICK if options.quick else measure.Plan()
    out = Path(options.out)
    # Check both folders now, not after minutes of measuring.
    images((0,), options.data_dir)
    out.mkdir(parents=True, exist_ok=True)
    found = measure.everything(
        plan, options.data_dir, (lambda title: None) if options.json else say
    )
    storage.write_json(out / "bench.json", found)
    figure.draw(found, out / "bench.png")
    if options.json:
        print(storage.json_text(found, indent=2))
    else:
        print(table(found, judged=not options.quick))
        print(f"\nresults in {out}: bench.json, bench.png")


def say(title):
    """Print on standard error which benchmark starts.

    Parameters
    ----------
    title : str
        Name of the benchmark.
    """
    console.tell(f"measuring {title} ...")


def table(found, judged=True):
    """Return the measurements as text.

    Parameters
    ----------
    found : dict
        From :func:`ibpcl.bench.measure.everything`.
    judged : bool
        Whether to compare with the targets; not with tiny sizes.

    Returns
    -------
    text : str
        Lines for a terminal.
    """
    sizes = found["sizes"]
    inputs = found["inputs"]
    machine = found["machine"]
    lines = [
        "One gradient step of the ELBO: "
        + ", ".join(f"{name} = {size}" for name, size in sizes.items())
        + f"; {machine['threads']} threads",
        f"inputs: {inputs['name']}, {100 * inputs['density']:.0f} % not zero, "
        f"{inputs['always_zero']} of {sizes['D']} zero in all images (two classes: "
        f"{inputs['two_classes_always_zero']})",
        f"medians of {found['rounds']} interleaved rounds; load of the machine before: "
        + ("unknown" if machine["load_before"] is None else f"{machine['load_before']:.1f}"),
        "",
    ]
    lines += [f"{name:46} {value:10.2f} ms" for name, value in found["milliseconds"].items()]
    heading = "target" if judged else "(tiny sizes: the targets do not apply)"
    lines += ["", f"{'':46} {'measured':>10}   {heading}"]
    for key, text, sign, target in TARGETS:
        value = found[key]
        number = "-" if value is None else format(value, "10.2f")
        missed = judged and value is not None and (value <= target) != (sign == "<=")
        goal = f"   {sign} {target:g}" + ("   missed" if missed else "") if judged else ""
        lines.append(f"{text:46} {number:>10}{goal}")
    reasons = dict.fromkeys(found["frameworks_left_out"].values())
    lines += [f"not measured: {reason}" for reason in reasons]
    lines += [
        "",
        "slopes on log axes: "
        + ", ".join(
            f"{axis} {scaling['slope']:.2f}"
            for axis, scaling in found["scaling"].items()
            if scaling["slope"] is not None
        ),
    ]
    lines += [
        f"an epoch of {found['epoch_examples']} images: {found['epoch_s']:.2f} s masked, "
        f"{found['epoch_finetuning_s']:.2f} s fine-tuning; 2000 predictions "
        f"{found['predict_2000_s']:.2f} s"
    ]
    lines += [
        f"autoencoder: a masked step {found['vae_masked_step_ms']:.1f} ms, one of fine-tuning "
        f"{found['vae_finetune_step_ms']:.1f} ms; dense products {found['vae_products_ms']:.1f} ms",
        f"convolutions: {found['convolution_line']}, S = {found['convolution_samples']}: a step "
        f"{found['convolution_step_ms']:.1f} ms, products "
        f"{found['convolution_products_ms']:.1f} ms",
    ]
    return "\n".join(lines)
