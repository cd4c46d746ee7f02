"""Who does the work: the options of every command that computes cells, and nothing else."""

import typer

JOBS = typer.Option(0, "--jobs", help="Worker processes; 0 = one for each processor.")
BACKEND = typer.Option("local", "--backend", help="local, or dask for the workers of a cluster.")
SCHEDULER = typer.Option(
    None, "--scheduler-address", help="Of the dask scheduler: tcp://host:8786.", show_default=False
)
