"""Pages: HTML that needs nothing but itself, from the templates beside this file."""

import math
import re
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from evalstop import __version__
from evalstop.detectors.words import level


def known(value: float) -> str:
    """Give a number for sorting, "" where there is none."""
    return "" if math.isnan(value) else repr(float(value))


def percent(share: float, sign: bool = True) -> str:
    """Write a share in percent: two digits, one decimal below 10 %.

    >>> percent(0.2243), percent(0.015), percent(1.0), percent(float("nan"))
    ('22 %', '1.5 %', '100 %', '-')
    """
    if math.isnan(share):
        return "-"
    text = f"{100 * share:.1f}" if 0 < share < 0.0995 else f"{100 * share:.0f}"
    return f"{text} %" if sign else text


def number(value: float) -> str:
    """Write a number with at most four digits, or what it is there to say."""
    if math.isnan(value):
        return "-"
    return "∞" if value == math.inf else level(value, ".4g")


def decimals(value: float) -> str:
    """Write a number with two decimals."""
    return "-" if math.isnan(value) else f"{value:.2f}"


def breakable(text: object) -> Markup:
    """Let a long spec be broken after a colon or a comma, rather than within a word.

    >>> breakable("k-decline:k=3,form=<b>")
    Markup('k-decline:<wbr>k=3,<wbr>form=&lt;b&gt;')
    """
    return Markup(re.sub("([:,])(?=[^ ])", r"\1<wbr>", str(escape(text))))


def page(template: str, folder: Path | None = None, **told: Any) -> str:  # noqa: ANN401
    """Fill a template; text is escaped, figures are passed as `markupsafe.Markup`.

    Parameters
    ----------
    template : str
        File name of the template.
    folder : Path, optional
        Where it is, if not beside this file; it may extend the templates there.
    **told
        Whatever the template shows.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    ours = Path(__file__).with_name("templates")
    environment = Environment(
        loader=FileSystemLoader([*([folder] if folder else []), ours]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for rule in (known, percent, number, decimals, breakable):
        environment.filters[rule.__name__] = rule
    environment.filters["capitalize_first"] = lambda text: text[:1].upper() + text[1:]
    return environment.get_template(template).render(version=__version__, **told)
