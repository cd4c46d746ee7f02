"""How every figure of ours looks, and how it becomes a file that is the same byte for byte.

Figures are made without pyplot, so that nothing global is touched. The colours are those of Okabe
and Ito, which stay apart for colour-blind eyes; with more lines than colours the dashes differ too.
"""

import io
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A5C00", "#333333")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")
DASHES = ("solid", (0, (4, 1.5)), (0, (1, 1.2)))
INK, FAINT, GRID = "#222222", "#8a8a8a", "#e6e6e6"

_STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the layout is the same everywhere
    "font.size": 9,
    "text.color": INK,
    "text.parse_math": False,  # a dollar in the name of a run is a dollar
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "xtick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.color": FAINT,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.7,
    "svg.fonttype": "none",
}
_FONTS = "system-ui, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif"


@dataclass(frozen=True)
class Look:
    """How one rule is drawn wherever it appears."""

    colour: str
    marker: str
    dashes: Any

    @property
    def line(self) -> dict[str, Any]:
        """What a line takes."""
        return {"color": self.colour, "linestyle": self.dashes}

    @property
    def dot(self) -> dict[str, Any]:
        """What a lone marker takes."""
        edge = {"markeredgecolor": "white", "markeredgewidth": 0.8}
        return {"color": self.colour, "marker": self.marker, "linestyle": "none", **edge}


def looks(families: Iterable[Iterable[str]]) -> dict[str, Look]:
    """Give each rule its look: a family shares a colour, its members differ by their markers."""
    n = len(COLOURS)
    return {
        name: Look(COLOURS[i % n], MARKERS[(i // n + j) % len(MARKERS)], DASHES[i // n % 3])
        for i, family in enumerate(families)
        for j, name in enumerate(family)
    }


@contextmanager
def figure(width: float, height: float) -> Iterator["Figure"]:
    """Give an empty figure of a size in inches; draw and save it inside the block, in our style."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        # Names of runs are in any script; the reader's browser has the glyphs that we lack.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield Figure(figsize=(width, height), layout="constrained")


def svg(drawn: "Figure", name: str) -> str:
    """Save a figure as text: no date, ids that start with `name`, fonts of the reader's system."""
    import matplotlib as mpl

    file = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": name}):
        drawn.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    text = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", file.getvalue())
    return text.replace("'DejaVu Sans'", _FONTS)


class Drawing(NamedTuple):
    """A figure: its size in inches, and what draws it. The same drawing gives the same bytes."""

    width: float
    height: float
    draw: Callable[["Figure"], None]

    def svg(self, name: str) -> str:
        """Draw it as SVG, for pages."""
        with figure(self.width, self.height) as drawn:
            self.draw(drawn)
            return svg(drawn, name)

    def pdf(self) -> bytes:
        """Draw it as PDF, for papers."""
        return self._bytes("pdf", {"CreationDate": None})

    def png(self) -> bytes:
        """Draw it as PNG, for whatever shows nothing else."""
        return self._bytes("png", {"Software": None})

    def _bytes(self, kind: str, metadata: dict[str, None]) -> bytes:
        file = io.BytesIO()
        with figure(self.width, self.height) as drawn:
            self.draw(drawn)
            drawn.savefig(file, format=kind, dpi=150, metadata=metadata)
        return file.getvalue()


def inline(text: str, label: str, width: float | None = None) -> str:
    """Cut an SVG file down to what stands in a page, as wide as that, at most `width` inches."""
    from xml.sax.saxutils import quoteattr

    body = text[text.index("<svg") :]
    style = "" if width is None else f'style="max-width: {width:.1f}in" '
    return re.sub(
        r'<svg [^>]*?viewBox="([^"]*)"[^>]*>',
        rf'<svg {style}viewBox="\1" role="img" aria-label={quoteattr(label)}>',
        body,
        count=1,
    )


def percent_axis(axis: Any, label: str) -> None:  # noqa: ANN401 - an axis of matplotlib
    """Label an axis of shares in percent."""
    axis.set_major_formatter(lambda share, _: f"{100 * share:.3g} %")
    axis.set_label_text(label)


def shorten(text: str, most: int) -> str:
    """Cut the middle out of a long name: its ends tell it from others.

    >>> shorten("pythia-1.4b-deduped", 11)
    'pythi…duped'
    """
    half = (most - 1) // 2
    return text if len(text) <= most else f"{text[:half]}…{text[-half:]}"
