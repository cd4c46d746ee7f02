"""Queues whose mean waits are known: the simulator agrees within Monte-Carlo error."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

from evalstop.simulator import Job, Truth, Workload, build_policy, simulate

RUNS, JOBS, WARM_UP = 30, 1500, 300


def mean_within_error(scheduler, servers, rate, sample, value, *, seed):
    """Simulate independent runs; give their mean of `value(jct, duration)` and its error."""
    means = []
    for child in np.random.SeedSequence(seed).spawn(RUNS):
        rng = np.random.default_rng(child)
        submit = np.cumsum(rng.exponential(1 / rate, JOBS)).tolist()
        duration = sample(rng, JOBS).tolist()
        workload = Workload(
            [Job(str(i), s, 1, d) for i, (s, d) in enumerate(zip(submit, duration, strict=True))],
            [Truth(d) for d in duration],
        )
        run = simulate(workload, build_policy(scheduler), servers)
        jct = np.array(run.ends) - np.array(submit)
        means.append(value(jct, np.array(duration))[WARM_UP:].mean())
    return np.mean(means), np.std(means, ddof=1) / math.sqrt(RUNS)


def exponential(rng, n):
    return rng.exponential(1.0, n)


def wait(jct, duration):
    return jct - duration


def response(jct, duration):
    return jct


@pytest.mark.parametrize(("servers", "load"), [(1, 0.6), (3, 0.7), (8, 0.75)])
def test_waits_of_m_m_c_are_erlang_c(servers, load):
    offered = servers * load
    last = offered**servers / math.factorial(servers) / (1 - load)
    waits = last / (sum(offered**k / math.factorial(k) for k in range(servers)) + last)
    expected = waits / (servers - offered)
    mean, error = mean_within_error("fifo", servers, offered, exponential, wait, seed=servers)
    assert mean == pytest.approx(expected, abs=4 * error)
    assert error < 0.15 * expected


@pytest.mark.parametrize(
    ("sample", "second_moment"),
    [
        (lambda rng, n: np.ones(n), 1.0),
        (lambda rng, n: rng.uniform(0, 2, n), 4 / 3),
        (lambda rng, n: np.where(rng.random(n) < 0.8, 0.5, 3.0), 0.8 * 0.25 + 0.2 * 9),
    ],
)
def test_waits_of_m_g_1_are_pollaczek_khinchine(sample, second_moment):
    rate = 0.6  # mean service is 1
    expected = rate * second_moment / (2 * (1 - rate))
    mean, error = mean_within_error("fifo", 1, rate, sample, wait, seed=11)
    assert mean == pytest.approx(expected, abs=4 * error)
    assert error < 0.15 * expected


def busy_with_shorter(rate, x):
    """Load of the jobs up to size x, exponential sizes of mean 1."""
    return rate * (1 - math.exp(-x) * (1 + x))


def test_responses_of_m_m_1_under_srpt():
    rate = 0.7

    def of_size(x):
        squares = 2 - math.exp(-x) * (x * x + 2 * x + 2) + x * x * math.exp(-x)
        waits = rate * squares / (2 * (1 - busy_with_shorter(rate, x)) ** 2)
        return waits + quad(lambda t: 1 / (1 - busy_with_shorter(rate, t)), 0, x)[0]

    expected = quad(lambda x: of_size(x) * math.exp(-x), 0, 40, limit=200)[0]
    mean, error = mean_within_error("srtf", 1, rate, exponential, response, seed=5)
    assert mean == pytest.approx(expected, abs=4 * error)
    assert error < 0.1 * expected


def test_waits_of_m_m_1_under_shortest_job_first():
    rate = 0.7
    expected = quad(lambda x: math.exp(-x) * rate / (1 - busy_with_shorter(rate, x)) ** 2, 0, 40)[0]
    mean, error = mean_within_error("sjf-skip", 1, rate, exponential, wait, seed=6)
    assert mean == pytest.approx(expected, abs=4 * error)
    assert error < 0.15 * expected
