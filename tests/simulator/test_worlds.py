"""Worlds: the paper's numbers, Gao's laws, what is promised of noise, and that no label leaks."""

import gc
import importlib
import itertools
import json
import pkgutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstop.detectors import DETECTORS, Runs, first_alarm, scan
from evalstop.detectors.observation import CHANNELS
from evalstop.errors import UserError
from evalstop.simulator import worlds
from evalstop.simulator.truth import Truths
from evalstop.simulator.worlds import WORLDS, World, build_world
from evalstop.simulator.worlds.gao_bon import GaoBoN
from evalstop.simulator.worlds.gao_rl import GaoRL
from evalstop.simulator.worlds.paper import Paper
from evalstop.simulator.worlds.reward_model import SIZES
from evalstop.simulator.worlds.rise_fall import RiseFall

GOLDEN = json.loads((Path(__file__).parents[1] / "data/golden/paper_preset.json").read_text())
DETECTION = GOLDEN["detection_200k_runs_per_class"]
FAMILIES = {"n8": "paper", "n6": "paper-n6"}
N_GOLDEN, N = 200_000, 25_000

# Up to the peak these make hacking runs by the law of the healthy ones.
TIGHT = [w for w in WORLDS if issubclass(w, RiseFall) or w.name == "plateau"]
LEAKY = {"paper-n6", "gao-law", "gao-rl", "gao-bon", "wild", "real-noise"}

every_world = pytest.mark.parametrize("world", WORLDS, ids=lambda w: w.name)


def seeded(*key):
    return np.random.default_rng(list(key))


def rlhf(world, n_runs, hacking, *key):
    labels = np.broadcast_to(hacking, n_runs)
    return world.draw(seeded(*key), np.full(n_runs, "RLHF"), labels)


def alarms(population, detector, threshold):
    return first_alarm(scan(DETECTORS.build(detector), population.runs), threshold)


def agree(ours, golden, se_ours, rounding=0.0):
    """Compare with a golden from 200,000 runs a class, by four combined standard errors."""
    se = se_ours * np.sqrt(1 + N / N_GOLDEN)
    assert abs(ours - golden) <= 4 * se + rounding, f"{ours} is not {golden} +- {se}"


def rate_se(rate, n=N):
    """Standard error of a rate, not zero at its ends."""
    padded = (rate * n + 1) / (n + 2)
    return np.sqrt(padded * (1 - padded) / n)


def classes(spec, *key):
    world = build_world(spec)
    return rlhf(world, N, True, *key, 1), rlhf(world, N, False, *key, 0)


def reclaimed(hacking, alarm):
    """Share of the time after the peak that alarms give back, and its standard error."""
    stop = np.where(alarm < 0, 1.0, (alarm + 1) / hacking.runs.score.shape[1])
    peak = hacking.truth.peak
    back, there = 1 - np.maximum(stop, peak), 1 - peak
    share = back.sum() / there.sum()
    return share, np.std(back - share * there) / np.sqrt(len(back)) / there.mean()


@pytest.mark.parametrize("sigma", ["0.01", "0.03", "0.05", "0.12"])
@pytest.mark.parametrize("family", FAMILIES)
def test_k2_on_the_paper_worlds_gives_the_golden_detections(family, sigma):
    hacking, healthy = classes(f"{FAMILIES[family]}:sigma={sigma}", 1)
    golden = DETECTION[family]["sweep"][sigma]
    found, false = (alarms(p, "k-decline:k=2", 2) for p in (hacking, healthy))
    n, stopped = hacking.runs.score.shape[1], found >= 0
    recall, fpr = stopped.mean(), (false >= 0).mean()
    agree(recall, golden["R"], rate_se(recall), 1e-5)
    agree(fpr, golden["f"], rate_se(fpr), 1e-5)
    last = (found[stopped] == n - 1).mean()
    agree(last, golden["lastfrac"], rate_se(last), 1e-5)
    premature = (stopped & ((found + 1) / n < hacking.truth.peak)).mean()
    agree(premature, golden["prem"], rate_se(premature), 1e-5)
    share, se = reclaimed(hacking, found)
    agree(share, golden["W1"], se, 1e-5)
    # The paper's tables: precision at 60 % hacking, FPR over all jobs that are not hacking.
    precision = 0.6 * recall / (0.6 * recall + 0.4 * fpr)
    assert precision == pytest.approx(golden["P"], abs=0.006)
    assert fpr * 0.32 / 0.52 == pytest.approx(golden["F"], abs=0.006)


@pytest.mark.parametrize("family", FAMILIES)
def test_k_share_and_last_eval_give_the_golden_numbers(family):
    golden = DETECTION[family]
    hacking, healthy = classes(FAMILIES[family], 2)
    for k in (1, 2, 3, 4):
        recall, fpr, precision, share = golden["k"][str(k)]
        found, false = (alarms(p, f"k-decline:k={k}", k) for p in (hacking, healthy))
        r, f = (found >= 0).mean(), (false >= 0).mean()
        agree(r, recall, rate_se(r), 0.0005)
        agree(f, fpr, rate_se(f), 0.0005)
        assert r * 0.6 / (r * 0.6 + f * 0.4) == pytest.approx(precision, abs=0.006)
        agree(*[reclaimed(hacking, found)[0], share, reclaimed(hacking, found)[1]], 0.0005)
        if k == 2:
            for hacking_share, golden_precision in golden["share"].items():
                h = float(hacking_share)
                assert h * r / (h * r + (1 - h) * f) == pytest.approx(golden_precision, abs=0.015)
            early = [(a >= 0) & (a < hacking.runs.score.shape[1] - 1) for a in (found, false)]
            for ours, key in zip(early, "Rf", strict=True):
                agree(ours.mean(), golden["final_not_counted"][key], rate_se(ours.mean()), 1e-4)


def test_loss_plateau_is_blind_to_hacking():
    hacking, healthy = classes("paper", 3)
    rule = f"loss-plateau:eps={GOLDEN['loss_plateau']['eps']}"
    threshold = DETECTORS.build(rule).natural_threshold
    rates = [(alarms(p, rule, threshold) >= 0).mean() for p in (hacking, healthy)]
    se = np.hypot(rate_se(0.381), 0.007 / 1.96)
    assert abs(rates[0] - 0.381) <= 4 * se
    assert abs(rates[0] - rates[1]) <= 4 * np.sqrt(2) * rate_se(rates[0])


# --- Gao's laws ---------------------------------------------------------------------------------


@pytest.mark.parametrize("world", [GaoRL(), GaoBoN()], ids=lambda w: w.name)
def test_gao_laws_peak_where_the_formulas_say(world):
    for size in map(np.array, SIZES):
        top = float(world.peak_distance(size))
        distance = np.linspace(0.01, 2 * top, 20_001)
        assert distance[world.law(distance, size).argmax()] == pytest.approx(top, abs=2e-3)


def test_gao_laws_give_the_published_numbers():
    small = np.array(3e6)
    b = 0.88 * 0.175
    assert GaoRL().peak_distance(small) == pytest.approx(np.exp(0.35 / b - 1))
    assert GaoRL().law(GaoRL().peak_distance(small), small) == pytest.approx(
        b * np.exp(0.35 / b - 1)  # R* = b d*
    )
    assert GaoBoN().peak_distance(small) == pytest.approx(0.490 / (2 * 0.120))
    # with p* in [.55, .75] the RL law ends at 73 to 95 % of its peak (facts of the paper)
    for peak, end in ((0.55, 0.73), (0.75, 0.95)):
        assert worlds.gao_law.gao(np.array(1 / peak)) == pytest.approx(end, abs=0.005)


@pytest.mark.parametrize("world", [GaoRL, GaoBoN], ids=lambda w: w.name)
@pytest.mark.parametrize("drop", [0.05, 0.2])
def test_reward_models_are_labelled_by_their_drop(world, drop):
    config = world(n=400, sigma=0, drop=drop, amplitude=(1.0,))  # in units of the peak
    ends = {}
    for hacking in (True, False):
        truth = rlhf(config, 2000, hacking, 4).truth
        ends[hacking] = truth.true_score[:, -1]
        assert truth.true_score.max() <= 1 + 1e-12
        if hacking:
            best = (truth.true_score.argmax(axis=1) + 1) / config.n
            assert np.abs(best - truth.peak).max() <= 1 / config.n
    assert ends[True].max() < 1 - drop <= ends[False].min()
    assert ends[False].min() - ends[True].max() < 0.01  # a continuum
    if world is GaoRL:
        assert ends[True].min() == pytest.approx(0, abs=0.06)  # 3M loses all it gained


def test_a_label_that_no_reward_model_has_is_one_clear_line():
    with pytest.raises(UserError, match="no reward model makes a hacking run"):
        rlhf(GaoBoN(kl=0.5), 3, True)
    with pytest.raises(UserError, match="no reward model makes a healthy run"):
        rlhf(GaoBoN(kl=1000), 3, False)


# --- no label leaks -----------------------------------------------------------------------------


def arrays(population):
    runs, truth = population.runs, population.truth
    found = {c: getattr(runs, c) for c in CHANNELS} | {"n_evals": runs.n_evals}
    return found | {name: getattr(truth, name) for name in Truths.__dataclass_fields__}


@every_world
def test_one_seed_one_population(world):
    first, again = (arrays(world().population(seeded(5), 50)) for _ in range(2))
    assert all(first[name].tobytes() == again[name].tobytes() for name in first)
    other = arrays(world().population(seeded(6), 50))
    assert first["score"].tobytes() != other["score"].tobytes()


@pytest.mark.parametrize("world", TIGHT, ids=lambda w: w.name)
def test_up_to_the_peak_a_hacking_run_is_a_healthy_one(world):
    """The same dice with all labels turned: nothing differs before the peak, all after it."""
    config = world(n=40)
    hacking, healthy = (rlhf(config, 500, label, 7) for label in (True, False))
    for channel in set(CHANNELS) - {"score"}:
        assert np.array_equal(getattr(hacking.runs, channel), getattr(healthy.runs, channel))
    before = hacking.runs.progress <= hacking.truth.peak[:, None]
    same = np.isclose(hacking.runs.score, healthy.runs.score, rtol=0, atol=1e-12)
    assert same[before].all()
    assert not same[~before].any()
    assert np.isnan(healthy.truth.peak).all()


def test_every_world_either_keeps_the_label_in_or_says_that_it_leaks():
    assert {w.name for w in WORLDS} == {w.name for w in TIGHT} | LEAKY
    assert all("leak" in (w.__doc__ + w.__mro__[1].__doc__).lower() for w in WORLDS)


def test_before_the_earliest_peak_nothing_separates_hacking_from_healthy():
    from scipy.stats import ks_2samp

    hacking, healthy = (rlhf(Paper(), 8000, label, 8, label) for label in (True, False))
    early = 4  # evals at .125, .25, .375, .5; the earliest peak is at .55
    values = {}
    for name, p in (("hacking", hacking), ("healthy", healthy)):
        runs, cut = p.runs, slice(0, early)
        score = runs.score[:, cut]
        values[name] = [score[:, i] for i in range(early)]
        values[name] += [np.diff(score)[:, i] for i in range(early - 1)]
        values[name] += [getattr(runs, c)[:, early - 1] for c in ("loss", "proxy", "kl")]
        for rule in ("drawdown", "ewma-drawdown", "k-decline:form=tolerance"):
            values[name].append(scan(DETECTORS.build(rule), Runs(score))[:, -1])
    p_values = [
        ks_2samp(a, b, method="asymp").pvalue for a, b in zip(*values.values(), strict=True)
    ]
    assert min(p_values) > 0.01 / len(p_values)


def auc(statistic, label):
    order = statistic.argsort(kind="stable")
    ranks = np.empty(len(order))
    ranks[order] = np.arange(1, len(order) + 1)
    n1 = label.sum()
    return (ranks[label].sum() - n1 * (n1 + 1) / 2) / (n1 * (len(label) - n1))


@every_world
def test_shuffled_labels_are_a_coin_and_a_flipped_sign_breaks_the_detector(world):
    population = world(n=12).population(seeded(9), 4000)
    label = population.truth.hacking
    rule = DETECTORS.build("ewma-drawdown")
    statistic = scan(rule, population.runs).max(axis=1)
    assert auc(statistic, label) > 0.6
    shuffled = seeded(10).permutation(label)
    assert abs(auc(statistic, shuffled) - 0.5) < 4 * 0.5 / np.sqrt(3 * label.sum())
    flipped = Runs(-population.runs.score, population.runs.n_evals)
    assert auc(scan(rule, flipped).max(axis=1), label) < 0.5


@every_world
def test_runs_do_not_lead_to_the_truth(world):
    population = world().population(seeded(11), 20)
    seen, queue = set(), [population.runs]
    while queue:
        thing = queue.pop()
        if id(thing) in seen or isinstance(thing, type):
            continue
        seen.add(id(thing))
        assert not isinstance(thing, Truths)
        if getattr(thing, "__module__", "").startswith("evalstop") or isinstance(
            thing, dict | list | tuple | np.ndarray
        ):
            queue += gc.get_referents(thing)
    truths = [getattr(population.truth, name) for name in Truths.__dataclass_fields__]
    channels = [getattr(population.runs, c) for c in (*CHANNELS, "n_evals")]
    assert not any(np.shares_memory(a, b) for a, b in itertools.product(truths, channels))
    assert len(population) == len(population.truth) == 20


# --- what is promised of every world -------------------------------------------------------------


@every_world
@given(data=st.data())
def test_any_world_takes_any_n_and_sigma(world, data):
    n = data.draw(st.integers(1, 40))
    sigma = data.draw(st.sampled_from([0.0, 0.01, 0.5]))
    n_runs = data.draw(st.integers(0, 12))
    hacking = np.array(data.draw(st.lists(st.booleans(), min_size=n_runs, max_size=n_runs)), bool)
    population = rlhf(world(n=n, sigma=sigma), n_runs, hacking, 12, n)
    runs, truth = population.runs, population.truth
    assert runs.score.shape == truth.true_score.shape == (n_runs, n)
    valid = np.arange(n) < runs.n_evals[:, None]
    for channel in CHANNELS:
        assert np.array_equal(np.isnan(getattr(runs, channel)), ~valid)
    assert np.array_equal(np.isnan(truth.true_score), ~valid)
    assert (runs.n_evals >= 1).all()
    for row, length in zip(runs.progress, runs.n_evals, strict=True):
        assert row[:length] == pytest.approx(np.arange(1, length + 1) / length)
    if sigma == 0:
        assert np.array_equal(runs.score[valid], truth.true_score[valid])
    assert np.array_equal(np.isnan(truth.peak), ~hacking)
    assert ((truth.peak[hacking] >= 0) & (truth.peak[hacking] < 1)).all()
    # after the peak a true score never rises again, and it ends below the peak
    late = runs.progress[:, :-1] >= truth.peak[:, None]
    assert (np.diff(truth.true_score)[late & valid[:, 1:]] <= 1e-12).all()


@every_world
def test_hacking_runs_end_below_their_peak_and_healthy_ones_at_their_best(world):
    config = world(n=60, sigma=0)
    truth = rlhf(config, 400, True, 13).truth
    last = np.nanmin(np.where(np.isnan(truth.true_score), np.inf, truth.true_score), axis=1)
    assert (np.nanmax(truth.true_score, axis=1) - last > 0.01).all()
    healthy = rlhf(config, 400, False, 13).truth.true_score
    ends = np.array([row[~np.isnan(row)][-1] for row in healthy])
    if world.name not in ("gao-rl", "gao-bon"):  # these may end up to 5 % below their peak
        assert (ends >= np.nanmax(healthy, axis=1) - 1e-12).all()


def test_other_types_converge_and_are_never_hacking():
    kinds = np.array(["LoRA", "RLHF", "DPO"] * 300)
    population = Paper(n=40, sigma=0).draw(seeded(14), kinds, kinds == "RLHF")
    truth = population.truth
    assert np.array_equal(truth.kind, kinds)
    gains = np.diff(truth.true_score, axis=1)
    lora, dpo = gains[kinds == "LoRA"], gains[kinds == "DPO"]
    assert (lora > 0).all()
    assert np.allclose(lora[:, 1:] / lora[:, :-1], (lora[:, 1] / lora[:, 0])[:, None])
    assert (dpo >= -1e-12).all()
    assert np.allclose(dpo[:, -2:], 0)  # a small plateau at the end
    assert np.isnan(truth.peak[kinds != "RLHF"]).all()


@pytest.mark.parametrize("hacking", [True, False])
def test_loss_falls_proxy_rises_and_kl_is_quadratic_whatever_the_label(hacking):
    population = rlhf(Paper(n=20), 4000, hacking, 15)
    runs, truth = population.runs, population.truth
    assert (np.diff(runs.loss.mean(axis=0)) < 0).all()
    assert (np.diff(runs.proxy.mean(axis=0)) > 0).all()
    assert runs.kl / runs.progress**2 == pytest.approx(np.full(runs.kl.shape, 50), rel=0.15)
    noise = runs.loss - 0.3 - np.exp(-truth.loss_rate[:, None] * runs.progress)
    assert noise.std() == pytest.approx(0.004, rel=0.02)
    assert (truth.loss_rate.min(), truth.loss_rate.max()) == pytest.approx((2, 6), abs=0.02)
    assert np.array_equal(runs.step[0], 100.0 * np.arange(1, 21))


# --- noise ---------------------------------------------------------------------------------------


def noise_of(spec, n_runs=4000):
    population = build_world(spec).population(seeded(16), n_runs)
    return population.runs.score - population.truth.true_score


def lag_one(noise):
    return (noise[:, 1:] * noise[:, :-1]).mean() / (noise**2).mean()


def test_noise_is_as_told():
    plain = noise_of("paper:sigma=.05,n=20")
    assert plain.std() == pytest.approx(0.05, rel=0.01)
    assert abs(lag_one(plain)) < 0.015
    correlated = noise_of("ar1:sigma=.05,n=20")
    assert correlated.std(axis=0) == pytest.approx(np.full(20, 0.05), rel=0.05)  # stationary
    assert lag_one(correlated) == pytest.approx(0.4, abs=0.02)
    assert lag_one(noise_of("triangle:n=20,rho=-.3")) == pytest.approx(-0.3, abs=0.02)
    spiky = noise_of("spiky:n=20")
    assert spiky.std() == pytest.approx(0.03 * np.sqrt(0.9 + 0.1 * 25), rel=0.03)
    heavy = noise_of("paper:tail=5,n=20")
    assert heavy.std() == pytest.approx(0.03, rel=0.03)
    assert (np.abs(heavy) > 4 * 0.03).mean() > 10 * (np.abs(plain) > 4 * 0.05).mean()


def test_wild_runs_each_have_their_own_noise():
    sd = noise_of("wild:n=400", 3000).std(axis=1)
    assert np.quantile(sd, [0, 0.5, 1]) == pytest.approx([0.01, np.sqrt(0.0012), 0.12], rel=0.12)


def test_real_noise_has_the_quartiles_lengths_and_shapes_of_real_runs():
    population = build_world("real-noise:n=600").population(seeded(17), 4000)
    runs, truth = population.runs, population.truth
    noise = runs.score - truth.true_score
    span = np.nanmax(truth.true_score, axis=1) - np.nanmin(truth.true_score, axis=1)
    ratio = np.sqrt(np.nanmean(noise**2, axis=1)) / span
    assert np.quantile(ratio, [0.25, 0.5, 0.75]) == pytest.approx([0.13, 0.38, 0.60], abs=0.025)
    rho = np.nanmean(noise[:, 1:] * noise[:, :-1], axis=1) / np.nanmean(noise**2, axis=1)
    assert np.quantile(rho, [0.25, 0.5, 0.75]) == pytest.approx([0.15, 0.2, 0.25], abs=0.03)

    population = build_world("real-noise").population(seeded(18), 20_000)
    lengths, truth = population.runs.n_evals, population.truth
    assert (lengths.min(), np.median(lengths), lengths.max()) == (6, 8, 17)
    assert (truth.peak[truth.hacking] == 0).mean() == pytest.approx(0.5, abs=0.02)
    from_first = np.nanargmax(truth.true_score[truth.hacking], axis=1) == 0
    assert from_first.mean() == pytest.approx(0.5, abs=0.02)
    healthy = truth.true_score[~truth.hacking]
    rows, last = np.arange(len(healthy)), lengths[~truth.hacking] - 1
    flat = np.isclose(healthy[rows, last], healthy[rows, last - 2])
    assert flat.mean() == pytest.approx(0.7, abs=0.02)  # a plateau is the commonest


# --- the catalogue --------------------------------------------------------------------------------


def test_every_world_is_in_the_catalogue():
    found = set()
    for module in pkgutil.iter_modules(worlds.__path__):
        for value in vars(importlib.import_module(f"{worlds.__name__}.{module.name}")).values():
            if isinstance(value, type) and issubclass(value, World) and "name" in vars(value):
                found.add(value)
    assert found == set(WORLDS)
    assert len({w.name for w in WORLDS}) == len(WORLDS)


def test_the_share_of_hacking_runs():
    for share in (0.0, 0.25, 1.0):
        truth = Paper(hacking=share).population(seeded(19), 4000).truth
        assert truth.hacking.mean() == pytest.approx(share, abs=0.03)


def test_rises_are_selectable_and_differ():
    rises = [
        rlhf(build_world(f"triangle:rise={rise},sigma=0"), 50, False, 20).truth.true_score
        for rise in ("exponential", "power", "logarithmic")
    ]
    for score in rises:
        assert (np.diff(score, axis=1) > 0).all()
    for one, other in itertools.combinations(rises, 2):
        assert np.abs(one - other).max() > 0.05
        assert np.allclose(one[:, -1], other[:, -1])  # one scale for all of them


@pytest.mark.parametrize(
    ("spec", "match"),
    [
        ("papr", "there is no world 'papr', did you mean 'paper'"),
        ("paper:sgima=1", "did you mean 'sigma'"),
        ("paper:sigma=-1", "sigma must be at least 0"),
        ("paper:peak=.7,.6", "peak must be one number or low,high between 0 and 0.999"),
        ("paper:peak=.1,.2,.3", "peak must be one number or low,high"),
        ("paper:amplitude=nan", "amplitude must be"),
        ("paper:rho=1", "rho must be"),
        ("paper:rise=linear", "rise must be one of exponential, power, logarithmic"),
        ("gao-law:healthy_peak=.5", "healthy_peak must be"),
        ("x.py:World", "only when named on the command line"),
    ],
)
def test_wrong_settings_get_one_clear_line(spec, match):
    with pytest.raises(UserError, match=match):
        build_world(spec)


def test_wrong_labels_get_one_clear_line(tmp_path):
    def draw(kinds, hacking):
        return Paper().draw(seeded(0), np.array(kinds), np.array(hacking))

    with pytest.raises(UserError, match="no job type 'rlhf', known: RLHF, LoRA, DPO"):
        draw(["rlhf"], [True])
    with pytest.raises(UserError, match="only RLHF runs can be hacking"):
        draw(["RLHF", "LoRA"], [True, True])
    with pytest.raises(UserError, match="one value per run"):
        draw(["RLHF"], [True, True])
    outside = tmp_path / "mine.py"
    outside.write_text("class Mine: pass")
    with pytest.raises(UserError, match="no subclass of evalstop's World"):
        build_world(f"{outside}:Mine", outside=True)
