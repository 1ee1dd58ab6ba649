"""scikit-learn's own suite of checks for estimators, on those that it takes for its own searches."""

from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline
from sklearn.utils.estimator_checks import check_estimator

from paraboloid.integrations.sklearn import NoisySearchCV

NOT_HERE = {"SCIPY_ARRAY_API is not set: not checking array_api input", "pandas is not installed"}
"""Why scikit-learn may skip a check. We do not claim to take arrays of other packages than numpy's."""
N_CHECKS = 45  # 51 to 55 in scikit-learn 1.9; a suite that finds nothing to check would pass as well


# scikit-learn warns of itself where one of its checks gives infinite targets to its own `type_of_target`.
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
@pytest.mark.parametrize(
    ("estimator", "space", "error_score"),
    [
        (Ridge(), {"alpha": (0.1, 10, "log")}, np.nan),
        (LogisticRegression(), {"C": (0.1, 10, "log")}, "raise"),
        (Pipeline([("pca", PCA()), ("ridge", Ridge())]), {"ridge__alpha": (0.1, 1)}, "raise"),
        (Pipeline([("pca", PCA()), ("logistic", LogisticRegression())]), {"logistic__C": (0.1, 1)}, np.nan),
    ],
    ids=["regressor", "classifier", "pipeline-regressor", "pipeline-classifier"],
)
def test_scikit_learn_finds_nothing_to_complain_about(estimator: Any, space: Any, error_score: Any) -> None:
    search = NoisySearchCV(estimator, space, n_iter=3, random_state=0, error_score=error_score)
    checks = check_estimator(search, on_skip=None, on_fail=None)
    bad = [(check["check_name"], check["exception"]) for check in checks if check["status"] == "failed"]
    assert bad == []
    skipped = {str(check["exception"]) for check in checks if check["status"] == "skipped"}
    assert skipped <= NOT_HERE
    assert len([check for check in checks if check["status"] == "passed"]) >= N_CHECKS
