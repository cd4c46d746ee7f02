"""Studies by name: one study, one file, with its analysis; all of them in one explicit table."""

from evalstop.studies.named import (
    actions,
    base_rate,
    calibration,
    composability,
    horizon,
    k,
    load,
    main,
    noise,
    real_noise,
    resubmission,
    rlhf_share,
)
from evalstop.studies.named.named import Named

NAMED = {
    module.STUDY.name: Named(module.STUDY, module.SMOKE, module.analyse)
    for module in (
        *(main, composability, noise, base_rate, k, horizon),
        *(load, rlhf_share, actions, resubmission, real_noise, calibration),
    )
}
