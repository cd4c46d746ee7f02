"""Studies by name: one study, one file, with its analysis; all of them in one explicit table."""

from evalstop.studies.named import base_rate, calibration, horizon, k, noise, real_noise
from evalstop.studies.named.named import Named

NAMED = {
    module.STUDY.name: Named(module.STUDY, module.SMOKE, module.analyse)
    for module in (noise, base_rate, k, horizon, real_noise, calibration)
}
