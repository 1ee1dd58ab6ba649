"""Words for the pages: how each solver is set and answers, and why we lose where we lose."""

SETTINGS = {
    "paraboloid": "`paraboloid.minimize` as it comes; the model's minimum",
    "paper, paper+": (
        "the paper's universal algorithm: as printed, and clipped around a robust centre; quadratics only, "
        "from its least budget on"
    ),
    "paper-told": "the paper's Algorithm 1, told the true Hessian: no rival, shows what knowing it would buy",
    "composite": "central composite design on the whole region, repeated, least squares; minimum of the fit",
    "box-behnken": "Box-Behnken design (all pairs of knobs), repeated, least squares; from three knobs on",
    "one-shot": "uniform random points of the region, least squares",
    "sphere": "random points of the unit sphere and a tenth at the centre, least squares",
    "sequential, sequential+": (
        "first-order designs and steepest descent, then a second-order design there; half-width 0.3, and as tuned"
    ),
    "spsa, spsa+": "Spall's gains and the last iterate; tuned gains and the mean of the last half",
    "kiefer-wolfowitz, kiefer-wolfowitz+": (
        "a/k and c/k^¼ and the last iterate; tuned gains and the mean of the last half"
    ),
    "cma, cma-large, cma-noise": (
        "start in the centre, step 0.3 of the range, no early end; the mean. Larger population as tuned; "
        "noise handler up to 30 evaluations a point"
    ),
    "ngopt, ngopt+": "nevergrad's NGOpt; and told that the function is noisy. What it recommends",
    "tbpsa, noisy-1+1": (
        "nevergrad's TBPSA and OptimisticNoisyOnePlusOne, told that the function is noisy. What they recommend"
    ),
    "tpe, tpe+": "Optuna's TPE; and multivariate with 20 random trials first. Best trial",
    "optuna-cmaes, optuna-gp": "Optuna's CMA-ES and Gaussian process (not deterministic). Best trial",
    "skopt": "scikit-optimize's living fork, `gp_minimize` with Gaussian noise; `expected_minimum`",
    "botorch": "qLogNoisyExpectedImprovement, 20 batches; minimum of the posterior mean (full set only)",
    "bobyqa, bobyqa+": "Py-BOBYQA with noise on, first radius 0.3 of the range; and with means as tuned",
    "nelder-mead, powell, cobyqa, differential-evolution": "SciPy's as they come, started in the centre; their x",
    "the same with +": (
        "means of several measurements as tuned, first step 0.3 of the range, restarts while there is budget"
    ),
    "noisyopt-compass, noisyopt-compass+": (
        "adaptive averaging, 30 evaluations at first; and as tuned. The place where the budget ends"
    ),
    "noisyopt-spsa": "its own gains (a = c = 1)",
    "astro-df": "SimOpt's ASTRO-DF, values only, independent noise; its last recommended solution",
}
REASONS: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        (
            "bbobnoisy_f10[1379]_*",
            "bbobnoisy_f11[68]_*",
        ),
        "The noise is a factor as large as the height itself, and vanishes at the minimum. The search closes in by "
        "a factor a round and has eight rounds; who follows the lowest of many single values goes on "
        "shrinking. Supposed: more rounds would help.",
    ),
    (
        (
            "bbobnoisy_f108_*",
            "bbobnoisy_f117_*",
        ),
        "COCO's uniform noise multiplies by up to 1e9, so that rare huge values hide the rest and a mean says"
        " next to nothing. A low quantile of the values is followed, from four times as many measurements as a "
        "quadratic has coefficients on; until then, and while the first windows are wrong (seen, f108), measurements "
        "tell little.",
    ),
    (
        (
            "logis_d5",
            "skewed_d3",
            "simopt_paramesti1",
            "simopt_sscont1",
        ),
        "The shape is not told from a quadratic with so few measurements, or late, and the minimum of a fit "
        "over the whole range is biased. Seen in all four: until then, or to the end, most measurements are "
        "0.5 to 1.3 half-ranges from the answer, so that nothing near it could contradict the fit. Seen (logistic "
        "loss, T = 200): of all that was measured one value differs from the best quadratic by three standard "
        "deviations of the noise, that in the middle, and the other differences are below one and a half.",
    ),
    (
        ("simopt_san1",),
        "Thirteen knobs, so that a quadratic has 105 coefficients. Seen: its designs have three levels of a knob, "
        "which any quadratic fits; curves of single knobs are recognised after some 600 measurements, at T = 200 not "
        "at all.",
    ),
    (
        ("simopt_cntnews1",),
        "One knob. Seen: the cost is nearly two straight lines, of which most measurements at the ends and in the "
        "middle say little; its bend is noticed late.",
    ),
    (
        (
            "vqe_tfim6_d8",
            "pendulum_d3",
        ),
        "The shape is recognised after 70 to 220 measurements, most of them in corners, and the model of it "
        "is at fault, not the rule that answers: tested on tuning seeds, following the model's own minimum is 2 to 5 "
        "times worse than the cautious rule (circuit).",
    ),
    (
        ("periodic_d3",),
        "Several basins that differ by 0.06 to 0.09. Rivals of the best known one are measured as long as they may be "
        "lower (tested on tuning seeds: the mean regret at T = 5000 fell from 0.043 to 0.003); at T = 200 that many "
        "measurements are not there, and who begins in the middle with a tuned step is in the right basin at once.",
    ),
    (
        (
            "edge_d4",
            "kinks_d3",
            "dose_d3",
            "svr_diabetes_d3",
            "rosen_*",
            "basins_d2",
            "cosh_d5",
            "quart_d5",
        ),
        "Not looked into. Supposed: a kink, a plateau or a curved valley is not what a quadratic with curves of single "
        "knobs and a smooth discrepancy describes; where the function is symmetric (cosh, quartic), a global quadratic "
        "is not biased and closing in gains nothing.",
    ),
    (
        (
            "quad_*",
            "ball_*",
        ),
        "Exact quadratics: a classical design can be as good where it happens to be near to the optimal one.",
    ),
)
"""(patterns of problem names, what is known). *Seen* is what the trace of one run on the tuning seed 500 shows."""
