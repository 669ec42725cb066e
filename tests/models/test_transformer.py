"""A small transformer that predicts the symbol after a window."""

import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.models.transformer import transformer_lm

CLASSES, LENGTH = 7, 5
PADDING = CLASSES + 1


def net(**options):
    torch.manual_seed(3)
    return transformer_lm((LENGTH,), CLASSES, **{"width": 12, "layers": 2, "heads": 3, **options})


def test_it_reads_a_window_and_gives_logits_of_the_next_symbol() -> None:
    x = torch.tensor([[1, 2, 3, 4, 5], [0, 6, CLASSES, 2, 1]])
    assert net()(x).shape == (2, CLASSES)
    both = net()
    torch.testing.assert_close(both(x)[1], both(x[1:])[0])  # windows do not see one another


def test_the_order_of_symbols_counts() -> None:
    model = net()
    one, two = model(torch.tensor([[1, 2, 3, 4, 5]])), model(torch.tensor([[2, 1, 3, 4, 5]]))
    assert not torch.allclose(one, two)


def test_padding_is_seen_by_nobody() -> None:
    model = net()
    x = torch.tensor([[PADDING, PADDING, 3, 4, 5]])
    before = model(x)
    model.symbols.weight.data[PADDING] = 100 * torch.randn(12)
    torch.testing.assert_close(model(x), before)
    model.symbols.weight.data[3] = torch.randn(12)
    assert not torch.allclose(model(x), before)
    assert torch.isfinite(model(torch.full((1, LENGTH), PADDING))).all()


def test_attention_is_that_of_torch() -> None:
    model = net()
    own = model.layers[0].attention
    library = torch.nn.MultiheadAttention(12, 3, batch_first=True)
    library.in_proj_weight.data, library.in_proj_bias.data = own.into.weight, own.into.bias
    library.out_proj.weight.data, library.out_proj.bias.data = own.out.weight, own.out.bias
    x = torch.randn(2, LENGTH, 12)
    gone = torch.tensor([[True, False, False, False, False], [False] * 5])
    expected, _ = library(x, x, x, key_padding_mask=gone)
    torch.testing.assert_close(own(x, gone[:, None, None, :] * -1e9), expected)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"width": 10}, "transformer_lm: width=10 must be a multiple of heads=3"),
        ({"layers": 0}, "transformer_lm: layers=0 must be a whole number of at least 1"),
        ({"heads": 0}, "transformer_lm: heads=0 must be"),
    ],
)
def test_sizes_that_cannot_be(options, said) -> None:
    with pytest.raises(FedkinError, match=said):
        net(**options)


def test_it_reads_symbols_and_nothing_else() -> None:
    with pytest.raises(FedkinError, match="reads symbols, the data hold numbers: try dnn"):
        net()(torch.zeros(2, LENGTH))
    with pytest.raises(FedkinError, match=r"reads rows of symbols, the data have shape \[1, 8\]"):
        transformer_lm((1, 8), CLASSES)
