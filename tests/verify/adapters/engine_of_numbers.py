"""Automatic differentiation of single numbers, as students write it."""

import math


class Value:
    def __init__(self, data, children=()):
        self.data = data
        self.grad = 0.0
        self.children = children
        self.pull = lambda: None

    def __add__(self, other):
        out = Value(self.data + other.data, (self, other))

        def pull():
            self.grad += out.grad
            other.grad += out.grad

        out.pull = pull
        return out

    def __mul__(self, other):
        out = Value(self.data * other.data, (self, other))

        def pull():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad

        out.pull = pull
        return out

    def __rsub__(self, number):
        out = Value(number - self.data, (self,))

        def pull():
            self.grad -= out.grad

        out.pull = pull
        return out

    def __pow__(self, n):
        out = Value(self.data**n, (self,))

        def pull():
            self.grad += n * self.data ** (n - 1) * out.grad

        out.pull = pull
        return out

    def tanh(self):
        t = math.tanh(self.data)
        out = Value(t, (self,))

        def pull():
            self.grad += (1 - t**2) * out.grad

        out.pull = pull
        return out

    def log(self):
        out = Value(math.log(self.data), (self,))

        def pull():
            self.grad += out.grad / self.data

        out.pull = pull
        return out

    def zero_grad(self):
        self.grad = 0.0

    def backward(self):
        order, seen = [], set()

        def visit(node):
            if node not in seen:
                seen.add(node)
                for child in node.children:
                    visit(child)
                order.append(node)

        visit(self)
        self.grad = 1.0
        for node in reversed(order):
            node.pull()
