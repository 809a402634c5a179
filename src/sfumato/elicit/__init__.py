"""Ask people: a server and a page for every kind of answer, and what the answers are worth."""
