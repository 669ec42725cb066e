"""What a federation is compared with, outside federation."""
