"""Secure aggregation: a server learns the sum of clients' vectors, and no vector.

Source: Bonawitz, Ivanov, Kreuter, Marcedone, McMahan, Patel, Ramage, Segal & Seth: Practical secure
aggregation for privacy-preserving machine learning, 2017, figure 4. Where
clients have identities, its consistency check is there too (``agreement``); elsewhere it is the
part for an honest server.
"""
