"""Samples that reach a method through clipped and noised gradients alone."""
