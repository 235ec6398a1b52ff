"""Comparing what two readers made of one value."""

import math


# Sums of float32 taken in another order differ by this much.
SUMS = {"rel": 2e-5, "absolute": 2e-6}


def same(a, b, where="", rel=1e-6, absolute=1e-9):
    """Asserts that two values agree; floats to float32's precision, since a column may be float32 in one of the files."""
    if isinstance(a, (list, tuple)) or isinstance(b, (list, tuple)):
        assert a is not None and b is not None and len(a) == len(b), f"{where}: {a!r} and {b!r}"
        for i, (x, y) in enumerate(zip(a, b)):
            same(x, y, f"{where}[{i}]", rel, absolute)
    elif isinstance(a, dict) and isinstance(b, dict):
        assert list(a) == list(b), f"{where}: keys {list(a)} and {list(b)}"
        for k in a:
            same(a[k], b[k], f"{where}.{k}", rel, absolute)
    elif a is None or b is None or isinstance(a, (bool, str)) or isinstance(b, (bool, str)):
        assert type(a) is type(b) and a == b, f"{where}: {a!r} and {b!r}"
    elif isinstance(a, int) and isinstance(b, int):
        assert a == b, f"{where}: {a!r} and {b!r}"
    else:
        assert math.isclose(a, b, rel_tol=rel, abs_tol=absolute), f"{where}: {a!r} and {b!r}"
