"""Learn from the full distribution of human judgment.

    import sfumato as sf

    answers = sf.read("votes.csv")      # people's answers, from a file or any table
    labels = sf.label(answers)          # one distribution per item
    labels.to_pandas()

Every name is loaded when it is first used, so that importing the package costs nothing. The
command ``sfumato`` does the same with the same names.
"""

_NAMES = {
    # what one does
    "aggregate": "sfumato.labels.verbs:aggregate",
    "ask": "sfumato.elicit.notebook:ask",
    "audit": "sfumato.studies.run:audit",
    "check": "sfumato.labels.check:check",
    "compare": "sfumato.evaluation.models:compare",
    "cover": "sfumato.evaluation.coverage:cover",
    "describe": "sfumato.labels.verbs:describe",
    "encode": "sfumato.learn.encoders:encode",
    "evaluate": "sfumato.evaluation.models:evaluate",
    "label": "sfumato.labels.verbs:label",
    "load": "sfumato.data:load_set",
    "load_items": "sfumato.items.load:load_items",
    "plan": "sfumato.planning.plans:plan",
    "read": "sfumato.judgments.formats:read",
    "read_labels": "sfumato.labels.verbs:to_labels",
    "report": "sfumato.studies.run:report",
    "run": "sfumato.studies.run:run",
    "simulate": "sfumato.labels.verbs:simulate",
    "soft_dataset": "sfumato.learn.soft_torch:soft_dataset",
    "soft_scorer": "sfumato.evaluation.scorers:soft_scorer",
    "train": "sfumato.learn.model:train",
    "view": "sfumato.viewing.server:view",
    "worth": "sfumato.labels.worth:worth",
    "write": "sfumato.labels.verbs:write",
    # what comes out
    "CrowdLabels": "sfumato.labels.labelset:CrowdLabels",
    "Estimates": "sfumato.scores:Estimates",
    "Items": "sfumato.items.items:Items",
    "Judgments": "sfumato.judgments.judgments:Judgments",
    "LabelSet": "sfumato.labels.labelset:LabelSet",
    "Model": "sfumato.learn.model:Model",
    "MultiLabelSet": "sfumato.labels.multilabel:MultiLabelSet",
    "Question": "sfumato.judgments.question:Question",
    "Run": "sfumato.studies.run:Run",
    "SoftCrossEntropy": "sfumato.learn.soft_torch:SoftCrossEntropy",
    "SoftTargets": "sfumato.learn.soft_targets:SoftTargets",
    "Study": "sfumato.studies.study:Study",
    "Worth": "sfumato.labels.worth:Worth",
    # what goes wrong
    "DataError": "sfumato.errors:DataError",
    "MissingPackage": "sfumato.errors:MissingPackage",
    "SfumatoError": "sfumato.errors:SfumatoError",
    "UnknownName": "sfumato.errors:UnknownName",
}
"""Public names and where they stand; the types for editors are in ``__init__.pyi``."""

__all__ = sorted(["__version__", *_NAMES])


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        found: object = version("sfumato")
    elif name in _NAMES:
        from sfumato.names import load_name

        found = load_name(_NAMES[name])
    else:
        from difflib import get_close_matches

        near = get_close_matches(name, _NAMES, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise AttributeError(f"Sfumato has nothing called {name!r}.{hint}", name=name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
