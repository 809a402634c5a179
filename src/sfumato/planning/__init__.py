"""Plan what to ask: how much an answer tells, what it costs, what to collect."""
