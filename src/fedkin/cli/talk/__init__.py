"""What a command says and asks: results, JSON, mistakes, questions."""
