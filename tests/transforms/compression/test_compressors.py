"""Compressors: what each keeps, and that it is unbiased."""

import math

import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.core.rng import Key
from fedkin.transforms.compression import compressors
from tests.transforms.compression.transform_examples import WAYS

SIZES = (7, 1, 11)


VECTOR = torch.sin(torch.arange(19.0).double() * 2.3) * torch.linspace(0.1, 3, 19).double()


def through(how, vector, number=0):
    return how.unpack(how.pack(vector, SIZES, Key(number)), SIZES)


@pytest.mark.certifies("top_k", "closed form")
def test_top_k_takes_the_largest_and_the_first_of_equal_ones():
    vector = torch.tensor([0.5, -3.0, 0.0, 2.0, -2.0, 1.0], dtype=torch.float64)
    sent = compressors.top_k(0.34).pack(vector, (2, 4), Key(0))
    assert sent["places"].tolist() == [1, 3, 4]
    assert sent["values"].tolist() == [-3.0, 2.0, -2.0]
    assert compressors.kept(0.07, 100) == 7  # 0.07 · 100 is above 7 in floating point


@pytest.mark.certifies("top_k", "random_k", "law")
@pytest.mark.parametrize("share", [5e-324, 1e-15])
def test_of_the_smallest_share_one_entry_is_kept(share):
    assert (compressors.kept(share, 100), compressors.kept(share, 0)) == (1, 0)
    largest = through(compressors.top_k(share), VECTOR)
    assert largest.nonzero().flatten().tolist() == [int(VECTOR.abs().argmax())]
    for scaled, factor in ((True, len(VECTOR)), (False, 1)):
        drawn = through(compressors.random_k(share, scaled), VECTOR)
        (place,) = drawn.nonzero().flatten().tolist()
        assert torch.equal(drawn[place], (VECTOR[place] * factor).float())


@pytest.mark.certifies("bfloat16", "closed form")
def test_bfloat16_is_no_further_off_than_half_of_its_last_place():
    """Eight bits of precision: at most 2⁻⁸ of a power of two, half a unit of the last place."""
    vector = torch.cat([VECTOR, torch.tensor([1 + 2**-8, 1 + 3 * 2**-8, -3e30]).double()])
    how = compressors.bfloat16()
    found = how.unpack(how.pack(vector, (22,), Key(0)), (22,)).double()
    below = 2.0 ** torch.floor(torch.log2(vector.abs()))
    assert bool(((found - vector).abs() <= below * 2**-8).all())
    assert found[-3:-1].tolist() == [1.0, 1 + 2**-6]  # ties go to the even one


@pytest.mark.certifies("random_k", "closed form")
def test_random_k_is_unbiased_where_it_is_scaled_and_a_part_where_not():
    drawn = torch.stack([through(WAYS["random_k"], VECTOR, k) for k in range(6000)]).double()
    k, d = 6, 19
    sigma = VECTOR.abs() * math.sqrt((d / k - 1) / 6000)
    assert bool(((drawn.mean(0) - VECTOR).abs() < 5 * sigma + 1e-6).all())
    part = through(compressors.random_k(0.3, scaled=False), VECTOR)
    assert int((part != 0).sum()) == k
    assert torch.equal(part[part != 0], VECTOR.float()[part != 0])


@pytest.mark.certifies("quantize", "closed form")
@pytest.mark.parametrize("bits", [8, 4, 2])
def test_quantized_numbers_are_unbiased_and_no_further_off_than_a_level(bits):
    how = compressors.quantizer(bits)
    drawn = torch.stack([through(how, VECTOR, k) for k in range(4000)]).double()
    step = torch.cat(
        [
            ((part.max() - part.min()) / (2**bits - 1)).expand(len(part))
            for part in VECTOR.split(list(SIZES))
        ]
    )
    assert bool(((drawn - VECTOR).abs() <= step + 1e-6).all())
    assert bool(((drawn.mean(0) - VECTOR).abs() < 5 * step / 2 / math.sqrt(4000) + 1e-6).all())
    assert len(how.pack(VECTOR, SIZES, Key(0))["codes"]) == math.ceil(19 * bits / 8)


def test_codes_survive_their_bytes():
    for bits in (8, 4, 2):
        codes = (torch.arange(13) * 5 % 2**bits).to(torch.uint8)
        assert torch.equal(compressors.unpacked(compressors.packed(codes, bits), bits)[:13], codes)


@pytest.mark.certifies("quantize", "closed form")
def test_a_tensor_of_one_value_is_exact():
    vector = torch.tensor([0.7, 0.7, 0.7, -1.0], dtype=torch.float64)
    how = compressors.quantizer(2)
    assert how.unpack(how.pack(vector, (3, 1), Key(0)), (3, 1)).tolist() == vector.float().tolist()


@pytest.mark.parametrize("places", [[3, 3], [5, 2], [-1, 2], [0, 19]])
def test_places_that_are_not_there_are_refused(places):
    sent = {"values": torch.ones(2), "places": torch.tensor(places, dtype=torch.int32)}
    with pytest.raises(FedkinError, match="not among the 19 that there are"):
        WAYS["top_k"].unpack(sent, SIZES)
