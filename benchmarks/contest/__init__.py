"""A contest of solvers on noisy problems whose truth is known: problems, solvers, runner, analysis."""
