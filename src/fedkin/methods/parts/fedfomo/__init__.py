"""FedFomo: who gained by whose model, and whose models a client is sent next."""
