"""Keep what people answer: one schema for SQLite and PostgreSQL, one writer, backups, copies."""
