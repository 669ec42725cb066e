"""What the tests of transform and of its parts have in common."""

from fedkin.transforms.compression import compressors

WAYS = {
    "top_k": compressors.top_k(0.3),
    "random_k": compressors.random_k(0.3, scaled=True),
    "8 bits": compressors.quantizer(8),
    "4 bits": compressors.quantizer(4),
    "2 bits": compressors.quantizer(2),
    "bfloat16": compressors.bfloat16(),
}
