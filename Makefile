# Every target creates .venv when it is missing and installs again only when
# pyproject.toml or constraints.txt changed.

PYTHON ?= python3
BIN := .venv/bin
EXTRAS := learn,boost,tables,text,vision,onnx,elicit,notebook,cluster,report,docs
INSTALL := PIP_CONSTRAINT=constraints.txt PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip install --quiet

.PHONY: help demo test check lint bench fuzz docs-check docs-update site clean

help:
	@echo "make demo         install, report on real answers, train on digits with simulated annotators"
	@echo "make test         run the tests, in a few minutes"
	@echo "make check        run what takes longer: documentation, notebooks, whole studies, clusters"
	@echo "make lint         ruff and mypy"
	@echo "make bench        measure against peers (installs crowd-kit and cleanlab)"
	@echo "make fuzz         thousands of generated requests to the elicitation server"
	@echo "make docs-check   run every example of the documentation"
	@echo "make site         build the documentation as a site in site/, without network"
	@echo "make docs-update  run them and write what they print into the documentation"

demo: .venv/installed
	$(BIN)/sfumato run digits --output demo-output
	$(BIN)/sfumato report "$$($(BIN)/sfumato data path real-sample)/real-answers.csv.gz" \
		-o demo-output/people.html --overwrite

test: .venv/installed
	$(BIN)/python -m pytest -n auto --dist loadfile -m "not check"

check: .venv/installed
	$(BIN)/python -m pytest -n auto --dist worksteal -m check

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/installed-bench
	$(BIN)/python benchmarks/aggregation.py $$SFUMATO_DATA
	$(BIN)/python benchmarks/million_rows.py
	$(BIN)/python benchmarks/many_votes.py
	$(BIN)/python benchmarks/training_speed.py
	$(BIN)/python benchmarks/frozen_vectors.py
	$(BIN)/python benchmarks/gnmds.py
	$(BIN)/python benchmarks/advice.py

fuzz: .venv/installed
	SFUMATO_FUZZ_CASES=10000 $(BIN)/python -m pytest -q -s tests/elicit/web/test_web_fuzz.py

docs-check: .venv/installed
	$(BIN)/python -m pytest tests/test_docs.py

docs-update: .venv/installed
	SFUMATO_UPDATE_DOCS=1 $(BIN)/python -m pytest -q tests/test_docs.py

site: .venv/installed
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --clean --quiet
	@echo "Open site/index.html"

clean:
	rm -rf .venv demo-output site benchmarks/out .mypy_cache .ruff_cache .pytest_cache

.venv/installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(INSTALL) --editable '.[dev,$(EXTRAS)]'
	touch $@

.venv/installed-bench: .venv/installed
	$(INSTALL) --editable '.[dev,$(EXTRAS),bench]'
	touch $@
