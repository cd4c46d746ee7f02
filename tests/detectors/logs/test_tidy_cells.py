"""A value of a tidy CSV that is no number is told, a blank one is no eval."""

from evalstop.detectors.logs import read_logs


def test_a_value_that_is_no_number_is_told(tmp_path):
    file = tmp_path / "curves.csv"
    file.write_text("run,metric,step,value\na,acc,1,.5\na,acc,2,abc\na,acc,3,\na,acc,4,.6\n")
    reading = read_logs([file])
    assert [c.steps.tolist() for c in reading.curves] == [[1, 4]]
    (warning,) = reading.warnings
    assert "line 3" in warning
    assert "no number" in warning
