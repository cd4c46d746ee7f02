"""The options that several commands have, in the same words."""

import typer

AS_JSON = typer.Option(False, "--json", help="Print JSON, for a program to read.")
SEED = typer.Option(0, "--seed", min=0, help="Seed of everything random.")
SETTINGS = typer.Option(
    [], "--set", metavar="FIELD=VALUE", help="A setting of the detector; repeatable."
)

# How logs are read.
PATHS = typer.Argument(..., help="Logs, folders of logs, MLflow stores.", show_default=False)
METRIC = typer.Option([], "--metric", help="Take only this metric as an eval; repeatable.")
DIRECTION = typer.Option([], "--direction", help="METRIC=higher or METRIC=lower; repeatable.")
STEP_EVERY = typer.Option(
    None, "--step-every", help="Steps between two evals of a file that has no steps."
)

# Curves with labels.
CURVES = typer.Argument(
    ...,
    metavar="CURVES...",
    help="Tidy CSV (run,metric,step,value, ...), or any log that `evalstop read` reads.",
    show_default=False,
)
LABELS_ARE = "Text column of the curves, or a CSV file with run[,metric],label."
POSITIVE = typer.Option("declined", "--positive", help="Label of curves that should be stopped.")
SELECT = typer.Option(
    [], "--select", help="COLUMN=VALUE: only these curves (source, run, metric, ...); repeatable."
)

# Who does the work of commands that compute cells.
JOBS = typer.Option(0, "--jobs", help="Worker processes; 0 = one for each processor.")
BACKEND = typer.Option("local", "--backend", help="local, or dask for the workers of a cluster.")
SCHEDULER = typer.Option(
    None,
    "--scheduler-address",
    help="Address of the dask scheduler: tcp://host:8786.",
    show_default=False,
)
TRACK = typer.Option(True, "--track/--no-track", help="Send the results to MLflow.")
