"""Values as the text that support/tree.rs writes of them, and random values written by torch.save."""

import random
import struct
import sys

import torch

dir = sys.argv[1]


def canon(x):
    if x is None:
        return "n"
    if isinstance(x, bool):
        return f"b{int(x)}"
    if isinstance(x, int):
        return f"i{x}"
    if isinstance(x, float):
        return "f" + struct.pack(">d", x).hex()
    if isinstance(x, str):
        return "s" + x.encode().hex()
    if isinstance(x, (bytes, bytearray)):
        return "y" + x.hex()
    if isinstance(x, list):
        return "[" + ",".join(map(canon, x)) + "]"
    if isinstance(x, tuple):
        return "(" + ",".join(map(canon, x)) + ")"
    if isinstance(x, dict):
        return "{" + ",".join(canon(k) + ":" + canon(v) for k, v in x.items()) + "}"
    flat = torch.empty(x.numel(), dtype=x.dtype)
    flat.copy_(x.resolve_conj().reshape(-1))
    body = bytes(flat.view(torch.uint8).tolist()) if x.numel() else b""
    return f"T{str(x.dtype).removeprefix('torch.')}{list(x.shape)}{body.hex()}"


def number(r):
    return r.choice([
        lambda: r.randrange(2), lambda: r.randrange(256), lambda: r.randrange(152_000),
        lambda: -r.randrange(2**31), lambda: r.randrange(2**63), lambda: -r.randrange(2**63),
        lambda: r.uniform(-30, 0), lambda: float("nan"), lambda: float("-inf"), lambda: -0.0,
        lambda: r.random() < 0.5,
    ])()


DTYPES = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
          torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64]


def value(r, depth, shared):
    kind = r.randrange(13 if depth else 9)
    if kind == 0:
        return None
    if kind == 1:
        return number(r)
    if kind == 2:
        return r.randrange(-(2**200), 2**200)
    if kind == 3:
        return "".join(chr(r.choice([65, 233, 0x4E2D, 0x1F600, 10, 0])) for _ in range(r.choice([0, 3, 300])))
    if kind == 4:
        return [number(r) for _ in range(r.choice([0, 1, 2, 7, 999, 1000, 1001, 2500]))]
    if kind == 5:
        return [r.choice([0, 1]) for _ in range(r.choice([1, 8, 1000, 3001]))]
    if kind == 6:
        return [r.uniform(-30, 0) for _ in range(r.choice([1, 8, 1000, 3001]))]
    if kind == 7:
        shape = [r.randrange(4) for _ in range(r.randrange(4))]
        t = torch.randn(shape) * 3
        t = t.to(r.choice(DTYPES))
        return t.t() if t.dim() == 2 else t[..., ::2] if t.dim() else t
    if kind == 8 and shared:
        return r.choice(shared)
    if kind == 9:
        return tuple(value(r, depth - 1, shared) for _ in range(r.randrange(5)))
    if kind == 10:
        x = {r.choice([str(i), i]): value(r, depth - 1, shared) for i in range(r.choice([0, 1, 5]))}
        if r.random() < 0.2:
            x.update((str(i), i) for i in range(10, 1100))
    else:
        x = [value(r, depth - 1, shared) if depth else None for _ in range(r.randrange(9))]
    # What is shared stays small, or sharing it again and again makes a text of any length.
    if len(canon(x)) < 500:
        shared.append(x)
    return x


def make(n):
    for i in range(n):
        r = random.Random(i)
        torch.manual_seed(i)
        x = value(r, 3, [])
        torch.save(x, f"{dir}/{i}.pt", pickle_protocol=2 + i % 4)
        print(canon(x))
