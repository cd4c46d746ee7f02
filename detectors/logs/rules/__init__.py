"""The rules that hold for every format, each written once."""
