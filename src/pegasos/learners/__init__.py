"""Learners: estimators in scikit-learn's sense, each an update rule over one engine."""
