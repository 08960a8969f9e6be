# What add must store, in NumPy, written from the specification and independent of the library
# (testing/acceptance/oracle.py says how it is called), and a small problem of each operator.


def add_forward(storage, operands, options):
    return {"y": storage.round(storage.widen(operands["a"]) + storage.widen(operands["b"]))}


PROBLEMS = {"add.forward": lambda data: ({"a": data.storage(6, 40), "b": data.storage(6, 40)}, {})}
