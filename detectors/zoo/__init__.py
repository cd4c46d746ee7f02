"""The zoo: one rule, one file, all of them in one explicit tuple."""

from evalstop.detectors.catalogue import Catalogue
from evalstop.detectors.rules import Detector
from evalstop.detectors.zoo.always import Always
from evalstop.detectors.zoo.bocpd import Bocpd
from evalstop.detectors.zoo.cusum import Cusum
from evalstop.detectors.zoo.drawdown import Drawdown
from evalstop.detectors.zoo.e_detector import EDetector
from evalstop.detectors.zoo.e_process import EProcess
from evalstop.detectors.zoo.ewma import Ewma
from evalstop.detectors.zoo.ewma_drawdown import EwmaDrawdown
from evalstop.detectors.zoo.fixed_progress import FixedProgress
from evalstop.detectors.zoo.fused import Fused
from evalstop.detectors.zoo.gao_fit import GaoFit
from evalstop.detectors.zoo.k_decline import KDecline
from evalstop.detectors.zoo.kalman_trend import KalmanTrend
from evalstop.detectors.zoo.learned import Learned
from evalstop.detectors.zoo.loss_plateau import LossPlateau
from evalstop.detectors.zoo.mann_kendall import MannKendall
from evalstop.detectors.zoo.never import Never
from evalstop.detectors.zoo.page_hinkley import PageHinkley
from evalstop.detectors.zoo.patience import Patience
from evalstop.detectors.zoo.proxy_gap import ProxyGap
from evalstop.detectors.zoo.ruptures import Ruptures
from evalstop.detectors.zoo.shiryaev_roberts import ShiryaevRoberts
from evalstop.detectors.zoo.slope_glr import SlopeGlr
from evalstop.detectors.zoo.step_glr import StepGlr
from evalstop.detectors.zoo.stop_at import StopAt
from evalstop.detectors.zoo.unimodal_glr import UnimodalGlr

ZOO: tuple[type, ...] = (
    KDecline,
    Patience,
    Drawdown,
    EwmaDrawdown,
    PageHinkley,
    Cusum,
    Ewma,
    ShiryaevRoberts,
    Bocpd,
    SlopeGlr,
    StepGlr,
    MannKendall,
    UnimodalGlr,
    GaoFit,
    Fused,
    EProcess,
    EDetector,
    KalmanTrend,
    ProxyGap,
    Ruptures,
    Learned,
    LossPlateau,
    FixedProgress,
    StopAt,
    Never,
    Always,
)

DETECTORS: Catalogue[Detector] = Catalogue("detector", ZOO)
