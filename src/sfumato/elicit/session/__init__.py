"""One person's way through a collection: entry, plan, screens, answers."""
