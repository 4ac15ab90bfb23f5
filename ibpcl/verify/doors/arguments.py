"""The arguments of a forward as a flat list of arrays, and back."""

from dataclasses import dataclass
from functools import cached_property

from ibpcl.verify.doors import leaves
from ibpcl.verify.doors.reading import Leaf


@dataclass
class Arguments:
    """The arguments of a forward, in which nested collections are spread into their arrays."""

    given: dict  # the arguments by name
    keywords: tuple = ()  # names of those that are passed by keyword only

    @cached_property
    def spread(self):
        """A :class:`Leaf` for everything that may be moved, and for every other argument."""
        found = []
        for name, value in self.given.items():
            if leaves.is_container(value):
                found += [
                    Leaf(leaves.text_of(path, name), (name, *path), item)
                    for path, item in leaves.arrays_in(value, False).items()
                ]
            else:
                found.append(Leaf(name, (name,), value))
        return found

    def rebuilt(self, values):
        """Return the arguments by name with other values of the leaves, which stand in the same
        order.
        """
        made = dict(self.given)
        for leaf, value in zip(self.spread, values, strict=True):
            name, *path = leaf.keys
            made[name] = leaves.replaced(made[name], tuple(path), value) if path else value
        return made

    def passed_to(self, function, made):
        """Call a function with arguments by name, by position where possible."""
        return function(
            *(value for name, value in made.items() if name not in self.keywords),
            **{name: value for name, value in made.items() if name in self.keywords},
        )


def is_moved(leaf):
    """Return whether a leaf is a real floating-point array or number, so that it can be
    differentiated.
    """
    return leaves.is_array(leaf.value) or (isinstance(leaf.value, list) and _is_floats(leaf.value))


def _is_floats(value):
    return bool(value) and all(
        isinstance(item, float) or (isinstance(item, list) and _is_floats(item)) for item in value
    )
