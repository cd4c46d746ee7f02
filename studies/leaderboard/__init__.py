"""The leaderboard: every stop rule on every world, at the same price in false alarms."""
