"""The table of forms: each example is right, is read in its form, and is wrong when spoiled."""

import pytest

from ibpcl.verify.adapters import discovery, forms, inputs, loading
from ibpcl.verify.adapters.arguments import Code
from ibpcl.verify.running.checking import results_here
from ibpcl.verify.running.user import Request

# A piece of each example, and what spoils it.
SPOILED = {
    "expression of recorded objects": ("(other, self.data)", "(other, other.data)"),
    "Jacobian-vector or Hessian-vector product": ("np.cos(x) * dx", "np.sin(x) * dx"),
    "static functions with a context": ("2 * x * dout", "x * dout"),
    "layer": ("dout.sum(axis=0)", "5 * dout.sum(axis=0)"),
    "output with a function for the gradient": ("dout * w, dout * x", "dout * x, dout * w"),
    "loss with its gradient": ("/ len(y)", ""),
    "function with cache": ("dout @ w.T", "-dout @ w.T"),
    "derivative by its name": ("sigmoid(x) * (1 - sigmoid(x))", "x * (1 - x)"),
}


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "mine.py"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize("form", forms.FORMS, ids=lambda form: form.name)
def test_an_example_is_right_and_is_wrong_when_it_is_spoiled(form, file):
    def verdicts_of(source):
        return {item.verdict for item in results_here(Request(str(file(source))))}

    assert verdicts_of(form.example) == {"ok"}
    before, after = SPOILED[form.name]
    assert form.example.count(before) == 1
    assert "wrong" in verdicts_of(form.example.replace(before, after))


@pytest.mark.parametrize("form", forms.FORMS, ids=lambda form: form.name)
def test_an_example_is_read_in_its_form(form, file):
    module = loading.load(str(file(form.example))).module
    targets = discovery.targets_in(module)
    target = next(iter(targets.values()))
    if form.name == "expression of recorded objects":
        target = targets["expression"]
    pair = inputs.ready(module, target, {}, 0, None)
    guessed = dict(zip(pair.names, pair.inputs, strict=True))
    given = inputs.given_inputs(module, target)
    given = given or {name: guessed[name] for name in target.parameters.required}
    code = Code(target.forward, target.gradient, given)
    first = next(each for each in forms.FORMS if each.recognise(code) is not None)
    assert first.recognise == form.recognise


def test_the_guide_shows_each_form_with_its_example():
    guide = (loading.Path(__file__).parents[3] / "docs/checking-your-code.md").read_text()
    for form in forms.FORMS:
        assert form.example in guide, form.name
