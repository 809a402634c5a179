"""The researcher's own application: what goes on, who stays in the data, what was done."""

from sfumato.elicit.admin.app import admin_app

__all__ = ["admin_app"]
