"""Where data come from, how they are split over clients, and how clients hold them."""
