"""The command that makes the same result again, for reports to show."""

import shlex

import typer


def again(context: typer.Context, *leave_out: str) -> str:
    """Write the running command from what the user gave, without the options in `leave_out`."""
    words = ["evalstop", str(context.info_name)]
    for parameter in context.command.params:
        name = str(parameter.name)
        source = context.get_parameter_source(name)
        if name in leave_out or source is None or source.name != "COMMANDLINE":
            continue
        value = context.params[name]
        for one in value if isinstance(value, list | tuple) else [value]:
            option = [] if parameter.param_type_name == "argument" else [parameter.opts[0]]
            words += option if one is True else [*option, str(one)]
    return shlex.join(words)
