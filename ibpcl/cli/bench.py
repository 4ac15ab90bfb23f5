"""``ibpcl bench``: measure the gradient step, print a table, write JSON and a figure."""

from pathlib import Path

from ibpcl import console, storage
from ibpcl.bench import figure, measure
from ibpcl.bench.problem import images

# key, what it is, at most or at least, how much
TARGETS = (
    ("step_over_products", "step over its dense products, ten classes", "<=", 1.0),
    ("step_over_products_two_classes", "the same, a task of two classes", "<=", 1.0),
    ("step_over_products_dense", "the same, dense inputs", "<=", 1.35),
    ("torch_eager_over_step", "PyTorch eager over step", ">=", 3.0),
    ("torch_compile_over_step", "torch.compile over step", ">=", 3.0),
    ("jax_over_step", "JAX jit over step", ">=", 4.0),
    ("noise_speedup", "numpy.random.Generator over noise", ">=", 10.0),
    ("peak_step_mb", "memory of a step, MB", "<=", 150.0),
    ("vae_step_over_products", "autoencoder: step over its dense products", "<=", 1.5),
    ("import_s", "import ibpcl, s", "<=", 0.3),
    ("compile_cold_s", "first step after installing, s", "<=", 30.0),
    ("compile_cached_s", "first step of a process, s", "<=", 2.0),
)


def execute(options):
    """Measure, print and write."""
    plan = measure.QUICK if options.quick else measure.Plan()
    talk = not options.json
    out = Path(options.out)
    # a wrong folder is refused, and one for the files is made,
    images((0,), options.data_dir)
    out.mkdir(parents=True, exist_ok=True)  # before the minutes that it takes
    found = measure.everything(plan, options.data_dir, say if talk else lambda title: None)
    storage.write_json(out / "bench.json", found)
    figure.draw(found, out / "bench.png")
    if options.json:
        print(storage.json_text(found, indent=2))
    else:
        print(table(found))
        print(f"\nresults in {out}: bench.json, bench.png")


def say(title):
    """Tell on standard error what is measured now."""
    console.tell(f"measuring {title} ...")


def table(found):
    """Return the measurements as text."""
    sizes = found["sizes"]
    inputs = found["inputs"]
    machine = found["machine"]
    lines = [
        "One gradient step of the ELBO: "
        + ", ".join(f"{name} = {size}" for name, size in sizes.items())
        + f"; {machine['threads']} threads",
        f"inputs: {inputs['name']}, {100 * inputs['density']:.0f} % not zero, "
        f"{inputs['always_zero']} of {sizes['D']} "
        f"zero in all images (two classes: {inputs['two_classes_always_zero']})",
        (
            f"medians of {found['rounds']} interleaved rounds; load of the machine before: "
            f"{machine['load_before']}"
        ),
        "",
    ]
    lines += [f"{name:46} {value:10.2f} ms" for name, value in found["milliseconds"].items()]
    lines += ["", f"{'':46} {'measured':>10}   target"]
    for key, text, sign, target in TARGETS:
        value = found[key]
        reached = (
            "" if value is None else "" if (value <= target) == (sign == "<=") else "   missed"
        )
        lines.append(
            f"{text:46} {'-' if value is None else format(value, '10.2f'):>10}   {sign} "
            f"{target:g}{reached}"
        )
    lines += [f"left out: {reason}" for reason in found["frameworks_left_out"].values()]
    lines += [
        "",
        "slopes on log axes: "
        + ", ".join(
            f"{axis} {one['slope']:.2f}"
            for axis, one in found["scaling"].items()
            if one["slope"] is not None
        ),
    ]
    lines += [
        f"an epoch of {found['epoch_examples']} images: {found['epoch_s']:.2f} s masked, "
        f"{found['epoch_finetuning_s']:.2f} s fine-tuning; 2000 predictions "
        f"{found['predict_2000_s']:.2f} s"
    ]
    lines += [
        f"autoencoder: a masked step {found['vae_masked_step_ms']:.1f} ms, one of fine-tuning "
        f"{found['vae_finetune_step_ms']:.1f} ms; dense products {found['vae_products_ms']:.1f} ms"
    ]
    return "\n".join(lines)
