"""What is handed over after training: personal models as files, with a card, and their predictions."""
