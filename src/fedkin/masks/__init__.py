"""Secure aggregation: a server learns the sum of clients' vectors, and no vector.

Source: Bonawitz, Ivanov, Kreuter, Marcedone, McMahan, Patel, Ramage, Segal & Seth: Practical secure
aggregation for privacy-preserving machine learning, 2017, figure 4 (its part for an honest server).
"""
