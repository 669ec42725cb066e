"""The leaderboard: entries, page, charts and markdown, from rows."""
