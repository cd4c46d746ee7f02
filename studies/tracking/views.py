"""How MLflow's pages look: where to open them, a view that they offer, the colours of lines."""

import json
import time
from collections.abc import Sequence

from evalstop.benchmarks.plots import COLOURS

# Metrics of all top-level runs, overlaid.
CHARTS = "/#/experiments/{}/runs?workflowType=machine_learning&compareRunsMode=CHART"
# MLflow keeps a saved view as a tag of the experiment; what it cannot read it leaves out.
LEADERBOARD = "mlflow.sharedViewState.leaderboard"


def leaderboard_view(
    scores: Sequence[str], metric: str, ascending: bool, *, only: tuple[str, str]
) -> str:
    """Describe a table of the runs with a tag, with the scores that matter, the best run first."""
    state = {
        "searchFilter": f"tags.`{only[0]}` = '{only[1]}'",
        "orderByKey": f"metrics.`{metric}`",
        "orderByAsc": ascending,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "modelVersionFilter": "All Runs",
        "datasetsFilter": [],
        "selectedColumns": [f"metrics.`summary/{score}`" for score in scores],
        "columnOrder": [],
        "columnWidths": {},
        "runsExpanded": {},
        "runsPinned": [],
        "runsHidden": [],
        "runsVisibilityMap": {},
        "runsHiddenMode": "FIRST_20_RUNS",
        "viewMaximized": False,
        "runListHidden": False,
        "isAccordionReordered": False,
        "useGroupedValuesInCharts": True,
        "hideEmptyCharts": True,
        "groupBy": None,
        "groupsExpanded": {},
        "autoRefreshEnabled": False,
        "globalLineChartConfig": {
            "xAxisKey": "step",
            "lineSmoothness": 0,
            "selectedXAxisMetricKey": "",
        },
    }
    # The versions before saved views had names read the state itself.
    named = {
        "name": "Leaderboard",
        "createdAt": int(time.time() * 1000),
        "state": json.dumps(state),
    }
    return json.dumps(state | named)


def colour(i: int) -> str:
    """Give the colour of the i-th contender, that of our figures; paler when all are used up.

    >>> colour(0), colour(8)
    ('#0072b2', '#80b8d8')
    """
    paler = 1 - 0.5 ** (i // len(COLOURS))
    digits = COLOURS[i % len(COLOURS)].removeprefix("#")
    channels = (int(digits[j : j + 2], 16) for j in (0, 2, 4))
    return "#" + "".join(f"{round(c + (255 - c) * paler):02x}" for c in channels)
