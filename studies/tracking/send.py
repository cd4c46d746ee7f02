"""Send a results folder to MLflow; send it again, and nothing is there twice."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from evalstop.studies.tracking.cards import Card, best_first, point_cards, top_cards
from evalstop.studies.tracking.client import client
from evalstop.studies.tracking.folder import TOLD, ResultsFolder, read_folder
from evalstop.studies.tracking.store import artifact_folder, tracking_uri
from evalstop.studies.tracking.views import CHARTS, LEADERBOARD, colour, leaderboard_view

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import RunInfo

# Tags that we find things by: results (of an experiment), what a run is, and of which key.
RESULTS, KIND, KEY = "evalstop.results", "evalstop.kind", "evalstop.key"
COLOUR = "mlflow.runColor"
NOTE, PARENT, FINISHED = "mlflow.note.content", "mlflow.parentRunId", "FINISHED"
LONGEST_NOTE = 5000
MOST_VALUES = 1000  # that MLflow takes in one call


class Sent(NamedTuple):
    """What was sent.

    Parameters
    ----------
    experiment : str
        Name of the experiment.
    link : str
        Where its charts are, from the address of the server on.
    runs, new : int
        How many runs it has, and how many of them were sent now.
    """

    experiment: str
    link: str
    runs: int
    new: int


def track(folder: Path, advance: Callable[[int, int], None] = lambda done, total: None) -> Sent:
    """Send finished results to MLflow, or what is missing of them there.

    Parameters
    ----------
    folder : path
        What a command wrote, see `evalstop.studies.tracking`.
    advance : callable
        Told how many runs are there, of how many.

    Raises
    ------
    UserError
        If the folder holds no results, or the store fails; calling it again goes on from there.
    """
    told = read_folder(folder)
    tops, points = top_cards(told), list(point_cards(told))
    with client() as to:
        experiment, name = _experiment(told, to)
        runs = _Runs(to, experiment)
        keys = [*(card.key for card in tops), *(card.key for _, card in points)]
        before = sum(map(runs.is_done, keys))
        advance(before, len(keys))
        done = before
        for done in _send(told, tops, points, runs, before):
            advance(done, len(keys))
    return Sent(name, CHARTS.format(experiment), len(keys), done - before)


def _send(
    told: ResultsFolder,
    tops: Sequence[Card],
    points: Sequence[tuple[str, Card]],
    runs: "_Runs",
    done: int,
) -> Iterator[int]:
    """Send what is missing; count what is there."""
    # MLflow lists what was started last first: the order of the study, above all points.
    start = int((told.path / TOLD).stat().st_mtime * 1000)
    parents: dict[str, str] = {}
    for i, card in enumerate(tops):
        tags = {KIND: "detector", COLOUR: colour(i)}
        parents[card.key] = runs.begin(card, start + len(tops) - i, tags)
        runs.add_files(card.key, told.artifacts())
        if not runs.is_done(card.key):
            runs.finish(card)
            yield (done := done + 1)
    for i, (parent, card) in enumerate(points):
        if not runs.is_done(card.key):
            runs.begin(card, start - i, {KIND: "point", PARENT: parents[parent]})
            runs.finish(card)
            yield (done := done + 1)


class _Runs:
    """The runs of an experiment by the keys of their cards: those there, and those we begin."""

    def __init__(self, to: "MlflowClient", experiment: str) -> None:
        self._to, self._experiment = to, experiment
        self._there: dict[str, RunInfo] = {}
        self._done: set[str] = set()
        token = None
        while token != "":
            page = to.search_runs(
                [experiment], f"tags.`{KEY}` != ''", max_results=1000, page_token=token
            )
            for run in page:
                key = run.data.tags[KEY]
                self._there[key] = run.info
                if run.info.status == FINISHED:
                    self._done.add(key)
            token = page.token or ""

    def is_done(self, key: str) -> bool:
        """Tell whether the run of a card is there, whole."""
        return key in self._done

    def begin(self, card: Card, at: int, tags: dict[str, str]) -> str:
        """Give the id of the run of a card, one that is there already if there is one."""
        if card.key not in self._there:
            tags = {**card.tags, **tags, KEY: card.key, NOTE: card.note[:LONGEST_NOTE]}
            run = self._to.create_run(
                self._experiment, start_time=at, tags=tags, run_name=card.name
            )
            self._there[card.key] = run.info
        return str(self._there[card.key].run_id)

    def add_files(self, key: str, files: list[Path]) -> None:
        """Send the files that are not there yet, or are of another size there."""
        run = self._there[key].run_id
        there = {file.path: file.file_size for file in self._to.list_artifacts(run)}
        for file in files:
            if there.get(file.name) != file.stat().st_size:
                self._to.log_artifact(run, str(file))

    def finish(self, card: Card) -> None:
        """Send numbers and settings; those that are there already have the same time, and stay."""
        from mlflow.entities import Metric, Param

        run, at = self._there[card.key].run_id, self._there[card.key].start_time
        metrics = [Metric(v.key, v.value, at, v.step) for v in card.values]
        params = [Param(name, value) for name, value in card.params.items()]
        self._to.log_batch(run, metrics=metrics[:MOST_VALUES], params=params)
        for i in range(MOST_VALUES, len(metrics), MOST_VALUES):
            self._to.log_batch(run, metrics=metrics[i : i + MOST_VALUES])
        self._to.set_terminated(run, end_time=at)
        self._done.add(card.key)


def _experiment(told: ResultsFolder, to: "MlflowClient") -> tuple[str, str]:
    """Find the experiment of these results, or make one.

    Other results of the same study (another seed, a first look) may have the name already; results
    that differ are never mixed in one chart.
    """
    for found in to.search_experiments(filter_string=f"tags.`{RESULTS}` = '{told.id}'"):
        return found.experiment_id, found.name
    name, number = told.name, 1
    while to.get_experiment_by_name(name) is not None:  # one that was deleted keeps its name
        number += 1
        name = f"{told.name} ({number})"
    files = artifact_folder(tracking_uri())
    findings = [f"- {line}" for line in told.findings().splitlines()]
    note = "\n".join([str(told.study.get("question", "")), "", *findings]).strip()
    made = to.create_experiment(
        name,
        artifact_location=None if files is None else (files / told.id).as_uri(),
        tags={
            RESULTS: told.id,
            NOTE: note[:LONGEST_NOTE],
            "mlflow.experimentKind": "custom_model_development",
            LEADERBOARD: leaderboard_view(told.shown, *best_first(told), only=(KIND, "detector")),
        },
    )
    return made, name
