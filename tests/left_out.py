"""List tests of scikit-learn that fail with our learners, with reasons."""

from __future__ import annotations

_INSIDE = "looks at attributes that are scikit-learn's own business"
_WORDS = "is refused here, too, in other words"
_ALL_STEPS = "`tol` ends nothing: Pegasos does all its steps"
_ARRIVES = "SDCA does not stop at max_iter: other methods finish what coordinate ascent has not"
_LAST_BIT = (
    "dual coefficients are those of the optimum to within `tol`, as certified, not to the last bit"
)
_ONE_FORM = "a linear predictor has coef_, one with a linear kernel has support vectors; not both"
_WEIGHTS = "negative weights are refused, they do not leave rows out"
_TIE = "without weights the optimum gives the point the score 0: its class is a matter of the last step"
_SPARSE = "coefficients are dense; there is no sparsify"
_FINITE = "λ = 1/(C m) must be above 0; a very large C is allowed"

REASONS: dict[str, str] = {
    "test_sgd::test_plain_has_no_average_attr": _INSIDE,
    "test_sgd::test_partial_fit_weight_class_balanced": _WORDS,
    "test_sgd::test_partial_fit_equal_fit_classif": _INSIDE,
    "test_sgd::test_balanced_weight": "an F1 of 0.95998 where the test asks for more than 0.96",
    "test_sgd::test_class_weights": _TIE,
    "test_sgd::test_sample_weights": _TIE,
    "test_sgd::test_tol_parameter": _ALL_STEPS,
    "test_sgd::test_sgd_random_state": _ALL_STEPS,
    "test_sgd::test_multi_core_gridsearch_and_early_stopping": "nothing is held out to stop early (found in another process)",
    "test_svm::test_libsvm_parameters": _LAST_BIT,
    "test_svm::test_svc_clone_with_callable_kernel": _LAST_BIT,
    "test_svm::test_precomputed": _LAST_BIT,
    "test_svm::test_tweak_params": _LAST_BIT,
    "test_svm::test_libsvm_iris": _ONE_FORM,
    "test_svm::test_svm_classifier_sided_sample_weight": (
        "with C = 0.01 every intercept between -0.9 and 0.9 is optimal: libsvm takes the middle, SDCA one of them"
    ),
    "test_svm::test_negative_sample_weights_mask_all_samples": _WORDS,
    "test_svm::test_negative_weights_svc_leave_just_one_label": _WORDS,
    "test_svm::test_negative_weights_svc_leave_two_labels": _WEIGHTS,
    "test_svm::test_negative_weight_equal_coeffs": _WEIGHTS,
    "test_svm::test_bad_input": "a model that learned from dense rows predicts sparse ones, too",
    "test_svm::test_svc_nonfinite_params": "rows whose kernel values would overflow are refused, in other words",
    "test_svm::test_sparse_precomputed": "a precomputed kernel may be sparse",
    "test_svm::test_linearsvc_parameters": "no combination of loss and method is refused: SDCA chooses its method",
    "test_svm::test_immutable_coef_property": _INSIDE,
    "test_svm::test_libsvm_convergence_warnings": _ARRIVES,
    "test_svm::test_linear_svm_convergence_warnings": _ARRIVES,
    "test_svm::test_hasattr_predict_proba": "probabilities come from SweepCV.calibrate or CalibratedClassifierCV",
    "test_svm::test_svc_ovr_tie_breaking": "one-vs-all has no votes to break ties of",
    "test_svm::test_gamma_scale": _INSIDE,
    "test_svm::test_custom_kernel_not_array_input": "rows are numbers, also for a kernel of one's own",
    "test_svm::test_svc_raises_error_internal_representation": _INSIDE,
    "test_svm::test_n_iter_libsvm": "n_iter_ counts epochs of all predictors together",
    "test_svm::test_svm_with_infinite_C": _FINITE,
    "test_svm::test_probability_raises_futurewarning": "a warning about scikit-learn's own future",
    "test_svm::test_svc_nusvc_probA_probB_deprecated": "a warning about scikit-learn's own future",
    "test_calibration::test_calibrated_classifier_cv_double_sample_weights_equivalence": _LAST_BIT,
    "test_calibration::test_temperature_scaling": _FINITE,
    "test_calibration::test_calibration_inconsistent_prefit_n_features_in": "is refused here, too: by SDCA, not by LinearSVC",
    "test_stacking::test_stacking_without_n_features_in": "deletes an attribute that a stand-in asks its learner for",
    "test_from_model::test_importance_getter": "one-vs-all weighs features otherwise than multinomial regression",
    "test_from_model::test_feature_importance_sparse": _SPARSE,
}
