"""What methods refuse before training, where several refuse the same."""
