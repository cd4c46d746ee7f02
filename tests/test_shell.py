"""The shell of the command: one-line errors, quick start, layout, settings by name."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstop import __version__
from evalstop.cli import main
from evalstop.commands import COMMANDS
from evalstop.console import plain, table
from evalstop.detectors import DETECTORS
from evalstop.detectors.settings import (
    build,
    check_settings,
    parse_spec,
    setting,
    spec_of,
    split_specs,
)
from evalstop.errors import UserError


def run(*args, **options):
    command = [sys.executable, "-m", "evalstop", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["detector"], "detectors"),
        (["detectors", "--jsonn"], "--json"),
        (["detectors", "extra"], "extra"),
        (["scan"], "CURVES"),
    ],
)
def test_usage_errors_are_one_line(args, says, capsys):
    assert main(args) == 2
    told = capsys.readouterr()
    assert told.err.startswith("error: ")
    assert told.err.count("\n") == 1
    assert says in told.err
    assert ". See evalstop" in told.err or "? See evalstop" in told.err
    assert not told.out


def test_a_warning_of_a_rule_of_the_users_is_one_line(tmp_path):
    (tmp_path / "rule.py").write_text(
        "import numpy as np\n"
        "class Log:\n"
        "    def statistic(self, prefix):\n"
        "        return np.log(prefix[:, -1])\n"
    )
    (tmp_path / "curves.csv").write_text("run,metric,step,value\na,eval_acc,1,0\na,eval_acc,2,1\n")
    done = run("scan", tmp_path / "curves.csv", "--detector", f"{tmp_path / 'rule.py'}:Log")
    assert done.returncode == 0
    assert "warning: divide by zero encountered in log\n" in done.stderr
    assert ".py:" not in done.stderr


def test_contradictory_options_are_refused(tmp_path, capsys):
    path = tmp_path / "curves.csv"
    path.write_text("run,metric,step,value\na,eval_acc,1,.1\na,eval_acc,2,.2\n")
    ways = ["--direction", "eval_acc=higher", "--direction", "eval_acc=lower"]
    assert main(["read", str(path), *ways]) == 2
    assert "eval_acc: it is given as higher and as lower" in capsys.readouterr().err
    assert main(["simulate", "--preset", "paper:jobs=5", "--threshold", "2"]) == 2
    assert "--stop" in capsys.readouterr().err


def test_a_defect_is_one_line_too_unless_debug_is_asked_for(capsys, monkeypatch):
    from evalstop.commands import listing

    def fail(*_args, **_kwargs):
        raise RuntimeError("two\nlines")

    monkeypatch.setattr(listing, "show", fail)
    assert main(["detectors"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    for args in (["detectors", "--debug"], ["--debug", "detectors"]):
        with pytest.raises(RuntimeError):
            main(args)


def test_too_little_memory_is_one_line(capsys, monkeypatch):
    from evalstop.commands import listing

    def fill(*_args, **_kwargs):
        raise MemoryError

    monkeypatch.setattr(listing, "show", fill)
    assert main(["detectors"]) == 2
    assert capsys.readouterr().err.startswith("error: memory: there is not enough")


def test_output_in_another_encoding_loses_letters_and_json_does_not(tmp_path):
    (tmp_path / "curves.csv").write_text(
        "run,metric,step,value\nrün,eval_acc,1,0\nrün,eval_acc,2,1\n", "utf-8"
    )
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    read = partial(run, "read", "curves.csv", cwd=tmp_path, env=environment)
    assert "r?n" in read().stdout
    (curve,) = json.loads(read("--json").stdout)
    assert curve["run"] == "rün"


def test_version_and_help(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"evalstop {__version__}\n"
    assert main(["--help"]) == 0
    told = capsys.readouterr().out
    assert all(c.__name__.replace("_", "-").rstrip("-") in told for c in COMMANDS)
    assert main([]) == 2


def test_the_command_imports_nothing_heavy():
    code = (
        "import sys\nfrom evalstop.cli import main\nmain(['--help'])\n"
        "print(sorted({'numpy', 'scipy', 'pandas', 'mlflow', 'optuna', 'sklearn', 'matplotlib', "
        "'rich.table'} & set(sys.modules)), file=sys.stderr)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(eval(told.stderr.strip().splitlines()[-1]))
    assert not loaded - {"rich.table"}, f"evalstop --help loads {loaded}"


def test_a_folder_of_the_user_does_not_shadow_ours(tmp_path):
    for name in ("benchmarks", "detectors", "simulator"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise RuntimeError('the wrong one')")
    told = run("detectors", "--json", cwd=tmp_path)
    assert told.returncode == 0, told.stderr


def test_configs_survive_spawned_workers():
    from joblib import Parallel, delayed

    rules = [DETECTORS.build(s) for s in ("k-decline:k=3", "ewma-drawdown")]
    assert Parallel(n_jobs=2, backend="loky")(delayed(spec_of)(r) for r in rules) == [
        "k-decline:k=3",
        "ewma-drawdown",
    ]


def test_a_closed_pipe_is_no_error():
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as closed:
        told = subprocess.run(
            [sys.executable, "-m", "evalstop", "detectors", "--json"],
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert not told.stderr


def test_an_outside_detector_by_its_file(tmp_path):
    file = tmp_path / "my rule.py"
    file.write_text(
        "class Fall:\n    def statistic(self, prefix):\n        return -prefix[:, -1]\n"
    )
    assert DETECTORS.build(f"{file}:Fall", allow_path=True).statistic is not None
    with pytest.raises(UserError, match="only when named on the command line"):
        DETECTORS.build(f"{file}:Fall")
    with pytest.raises(UserError, match="has no class 'Fal', did you mean 'Fall'"):
        DETECTORS.build(f"{file}:Fal", allow_path=True)
    with pytest.raises(UserError, match="there is no file"):
        DETECTORS.build(f"{tmp_path}/none.py:Fall", allow_path=True)
    file.write_text("1 / 0")
    with pytest.raises(UserError, match="ZeroDivisionError"):
        DETECTORS.build(f"{file}:Fall", allow_path=True)


@dataclass(frozen=True)
class Every:
    """All types a setting can have."""

    name = "every"
    count: int = setting(2, low=1, high=9)
    weight: float = setting(0.5, low=0, high=1)
    form: str = setting("a", choices=("a", "b"))
    both: bool = setting(False)
    limits: tuple[float, ...] = setting((1.0, 2.0))
    sigma: float | None = setting(None, low=0)

    def __post_init__(self):
        check_settings(self)


@given(
    st.builds(
        Every,
        st.integers(1, 9),
        st.floats(0, 1),
        st.sampled_from("ab"),
        st.booleans(),
        st.lists(st.floats(allow_nan=False), min_size=1, max_size=3).map(tuple),
        st.none() | st.floats(0, allow_infinity=False),
    )
)
def test_specs_are_read_back(config):
    name, settings = parse_spec(spec_of(config))
    assert name == "every"
    assert build(Every, settings) == config
    assert split_specs(f"never,{spec_of(Every(count=3, both=True))},always") == [
        "never",
        "every:count=3,both=true",
        "always",
    ]


@pytest.mark.parametrize(
    ("spec", "match"),
    [
        ("every:count=x", "count must be of type int, got 'x'"),
        ("every:count=0", "count must be at least 1"),
        ("every:weight=nan", "weight must be a number"),
        ("every:weight=2", "weight must be at most 1"),
        ("every:form=c", "form must be one of a, b"),
        ("every:wieght=1", "did you mean 'weight'"),
        ("every:both=perhaps", "both must be of type bool"),
        ("every:count=1,count=2", "twice"),
        ("every:count", "no setting, write NAME:field=value"),
        ("every:sigma=-1", "sigma must be at least 0"),
    ],
)
def test_bad_settings_get_one_clear_line(spec, match):
    with pytest.raises(UserError, match=match):
        build(Every, parse_spec(spec)[1])


@pytest.mark.parametrize(
    ("field", "value", "kind"),
    [
        ("count", 2.5, "int"),
        ("count", "2", "int"),
        ("count", True, "int"),
        ("count", None, "int"),
        ("weight", "0.5", "float"),
        ("weight", False, "float"),
        ("both", 1, "bool"),
        ("limits", [1.0], r"tuple\[float, ...\]"),
        ("limits", ("a",), r"tuple\[float, ...\]"),
        ("sigma", "0.1", r"float \| None"),
    ],
)
def test_values_of_another_type_get_one_clear_line(field, value, kind):
    with pytest.raises(UserError, match=rf"^every: {field} must be of type {kind}, got {field}="):
        Every(**{field: value})


def test_numbers_of_numpy_are_numbers():
    config = Every(np.int64(3), np.float64(0.25), limits=(1, 2.5), sigma=np.float32(0.5))
    assert spec_of(config) == "every:count=3,weight=0.25,limits=1,2.5,sigma=0.5"
    assert spec_of(Every(weight=1)) == "every:weight=1"
    with pytest.raises(UserError, match="weight must be a number"):
        Every(weight=np.float32("nan"))


def test_unknown_names_get_the_nearest():
    with pytest.raises(UserError, match="no detector 'k-declin', did you mean 'k-decline'"):
        DETECTORS.build("k-declin")
    with pytest.raises(UserError, match="known: k-decline, patience"):
        DETECTORS.build("zzzz")


def test_names_are_printed_as_plain_text():
    assert plain("a\x1b[31mb\nc\u202ed") == "a?[31mb?c?d"
    assert plain("naïve é 日本") == "naïve é 日本"


def test_a_table_in_a_narrow_terminal_loses_no_letter(monkeypatch, capsys):
    from rich.console import Console

    narrow = Console(width=40, force_terminal=True, no_color=True)
    monkeypatch.setattr("rich.console.Console", lambda **_: narrow)
    table("", ["run", "verdict", "statistic"], [["a-run-of-a-long-name", "go on", "2 / 4"]] * 2)
    told = capsys.readouterr().out
    assert "…" not in told
    assert "2 / 4" in told
