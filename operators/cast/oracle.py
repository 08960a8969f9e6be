# What cast must store, in NumPy, written from the specification and independent of the library
# (testing/acceptance/oracle.py says how it is called), and a small problem of each operator.


def cast_forward(storage, operands, options):
    """To x's own type, which the command takes where it is told none."""
    return {"y": operands["x"]}


PROBLEMS = {"cast.forward": lambda data: ({"x": data.storage(6, 40)}, {})}
