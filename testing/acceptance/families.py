# Data families: the kinds of numbers that make reductions, roundings and special values go wrong.
# Every draw is a function of its seed text alone, so a failure names data that can be made again.
import zlib

import numpy as np


def generator(seed_text):
    return np.random.Generator(np.random.PCG64(zlib.crc32(seed_text.encode())))


def normal(storage, shape, rng):
    return storage.round(rng.standard_normal(shape).astype(np.float32))


def signs(shape, rng):
    return rng.choice(np.array([-1, 1], np.float64), shape)


def huge(storage, shape, rng):
    values = rng.uniform(0.5, 1, shape) * storage.largest * signs(shape, rng)
    return storage.round(values.astype(np.float32))


def subnormal(storage, shape, rng):
    units = rng.integers(1, 2**storage.fraction_bits, shape) * signs(shape, rng)
    return storage.round((units * storage.smallest).astype(np.float32))


def cancelling(storage, shape, rng):
    large = signs(shape, rng) * rng.choice(np.array([1000.0, 1024.0, 3.0]), shape)
    return storage.round((large + 1e-3 * rng.standard_normal(shape)).astype(np.float32))


def constant(storage, shape, rng):
    return storage.round(np.full(shape, rng.standard_normal(), np.float32))


def signed_zero(storage, shape, rng):
    return storage.round((signs(shape, rng) * 0).astype(np.float32))


def raw_bits(storage, shape, rng):
    return storage.from_bits(rng.integers(0, 2 ** (8 * storage.dtype.itemsize), shape, np.uint64))


def any_bits(storage, shape, rng):
    """Any finite bit pattern: every exponent, both signs."""
    drawn = raw_bits(storage, shape, rng)
    return np.where(np.isfinite(storage.widen(drawn)), drawn, storage.round(np.float32(1)))


def sprinkled(storage, shape, rng, specials):
    """Normal data with specials at one element in eight, and at least one in every row."""
    data = normal(storage, shape, rng)
    chosen = rng.random(shape) < 0.125
    chosen[..., rng.integers(shape[-1])] = True
    return np.where(chosen, rng.choice(specials, shape), data)


def not_a_number(storage, shape, rng):
    """Quiet and signalling NaN of both signs with payloads."""
    exponent = (2 ** (8 * storage.dtype.itemsize - 1) - 1) >> storage.fraction_bits
    infinity = exponent << storage.fraction_bits
    sign = 1 << (8 * storage.dtype.itemsize - 1)
    quiet = 1 << (storage.fraction_bits - 1)
    patterns = [infinity | quiet, infinity | quiet | 5, infinity | 1, infinity | sign | quiet | 3]
    return sprinkled(storage, shape, rng, storage.from_bits(patterns))


def infinite(storage, shape, rng):
    return sprinkled(storage, shape, rng, storage.round(np.array([np.inf, -np.inf], np.float32)))


def minus_infinity(storage, shape, rng):
    return sprinkled(storage, shape, rng, storage.round(np.array([-np.inf], np.float32)))


FAMILIES = (normal, huge, subnormal, cancelling, constant, signed_zero, any_bits, not_a_number,
            infinite, minus_infinity)
FINITE = FAMILIES[:7]


def mixed(storage, shape, rng):
    """Row by row (element by element in a vector) another family."""
    if len(shape) == 1:
        return mixed(storage, (*shape, 1), rng)[:, 0]
    return np.concatenate([FAMILIES[i % len(FAMILIES)](storage, (1, *shape[1:]), rng)
                           for i in range(shape[0])])
