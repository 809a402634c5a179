"""Fill the templates of the dashboard; whatever people typed stands in them as text (S5)."""

import datetime
import json
from pathlib import Path
from typing import Any

import jinja2

TEMPLATES = Path(__file__).parent.parent / "templates"
CHART_WIDTH, CHART_HEIGHT = 320, 90


def page(name: str, **values: Any) -> str:
    """The page of that name, such as "overview"."""
    return _ENVIRONMENT.get_template(f"admin_{name}.html.j2").render(**values)


def as_json(value: Any) -> str:
    """Plain data as JSON that is harmless also where a browser takes it for a page."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.0f} %"


def _decimal(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def _moment(seconds: float) -> str:
    at = datetime.datetime.fromtimestamp(seconds, tz=datetime.UTC)
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


def _leading(item: dict[str, Any], outcomes: list[str]) -> list[dict[str, Any]]:
    """The three outcomes with most mass, largest first."""
    places = [place for place, value in enumerate(item["probs"]) if value is not None]
    places.sort(key=lambda place: -item["probs"][place])
    return [
        {
            "name": outcomes[place],
            "prob": item["probs"][place],
            "low": item["low"][place],
            "high": item["high"][place],
        }
        for place in places[:3]
    ]


def _curve(points: list[dict[str, Any]]) -> str:
    """The points of an SVG line through medians by trial number."""
    top = max((point["median"] for point in points), default=0) or 1
    last = max((point["number"] for point in points), default=1)
    return " ".join(
        f"{CHART_WIDTH * (point['number'] - 1) / max(last - 1, 1):.1f},"
        f"{CHART_HEIGHT * (1 - point['median'] / top):.1f}"
        for point in points
    )


_ENVIRONMENT = jinja2.Environment(
    loader=jinja2.FileSystemLoader(TEMPLATES),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters |= {
    "percent": _percent,
    "decimal": _decimal,
    "moment": _moment,
    "leading": _leading,
    "curve": _curve,
}
