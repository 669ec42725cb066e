"""What is told of experiments: of runs that differ in nothing but the seed."""
