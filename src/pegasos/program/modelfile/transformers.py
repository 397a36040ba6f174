"""Parts of scikit-learn, and DropOutliers.

PolynomialFeatures, SimpleImputer, the encoders and ColumnTransformer are fitted again to one or two
rows with the parameters of the file, which scikit-learn checks at that point, and then given their
fitted attributes: this does not depend on scikit-learn's private attributes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn import preprocessing
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline

from pegasos.preprocessing import DropOutliers
from pegasos.program.errors import BadModel, short
from pegasos.program.modelfile import parts
from pegasos.program.modelfile.parts import Built, Fields, Part, count, number
from pegasos.program.modelfile.values import Record, objects, register

#: Columns that PolynomialFeatures may make: one row of them still fits anywhere.
_MOST_PRODUCTS = 2**24
_SEEN = "n_samples_seen_"


class Scaler(Part):
    """A scaler, whose attributes are arrays with one number per feature, or None."""

    def _build(self, params: dict[str, Any], fields: Fields) -> Built:
        estimator = self.cls(**params)
        unknown = np.ones(fields.width, dtype=bool)
        for name in self.attributes:
            value = fields.values.get(name)
            if value is None or (name == _SEEN and number(value)):
                fields.take(name, lambda value: True)
            else:
                value = fields.array(name, parts.NUMBERS, fields.width, finite=False)
                unknown &= np.isnan(value) | (name == _SEEN)  # a column without any value has NaN
            setattr(estimator, name, value)
        with np.errstate(all="ignore"):
            row = estimator.transform(np.zeros((1, fields.width)))[0]
        is_finite = np.isfinite(row[~unknown]).all()
        fields.require(is_finite, "it maps rows of zeros to numbers that are not finite")
        return Built(estimator, fields.width, fields.width)


class Products(Part):
    """PolynomialFeatures, which is determined by its parameters and its number of columns."""

    def _build(self, params: dict[str, Any], fields: Fields) -> Built:
        degree = params.get("degree", 2)
        highest, width = degree[1] if isinstance(degree, tuple | list) else degree, fields.width
        is_possible = (  # without huge integers
            min(width, highest) <= 24 and math.comb(width + highest, highest) <= _MOST_PRODUCTS
        )
        fields.require(is_possible, f"degree={degree} makes too large a table")
        estimator = self.cls(**params).fit(np.zeros((1, width)))
        return Built(estimator, width, int(estimator.n_output_features_))


class Imputer(Part):
    """SimpleImputer: the fill value of each column, and the columns with an indicator.

    The fill value of a column that is dropped is NaN.
    """

    def _describe(self, estimator: Any, place: str) -> dict[str, Any]:
        indicator = estimator.indicator_.features_.tolist() if estimator.add_indicator else []
        return {"statistics_": estimator.statistics_, "indicator": indicator}

    def _build(self, params: dict[str, Any], fields: Fields) -> Built:
        indicator = fields.take("indicator", parts.list_of(count))
        fills = fields.take("statistics_", parts.is_array)
        fields.check_shape("statistics_", fills, fields.width)
        dropped = np.array([fill != fill for fill in fills])  # a column without any value has NaN
        numbers = [fill for fill in fills[~dropped].tolist() if isinstance(fill, int | float)]
        fields.require(all(map(math.isfinite, numbers)), "its fill values are not finite")
        missing = params.get("missing_values", np.nan)
        other = missing + "." if isinstance(missing, str) else int(missing == 0)
        is_text = fills.dtype == object
        rows = np.full((2, fields.width), other, dtype=object if is_text else np.float64)
        rows[1, indicator] = missing
        rows[:, dropped] = missing
        estimator = SimpleImputer(**params).fit(rows)
        estimator.statistics_ = fills
        indicators = len(estimator.indicator_.features_) if estimator.add_indicator else 0
        return Built(estimator, fields.width, int((~dropped).sum()) + indicators)


class Encoder(Part):
    """OneHotEncoder or OrdinalEncoder: the categories of each column."""

    def _describe(self, estimator: Any, place: str) -> dict[str, Any]:
        if (estimator.min_frequency, estimator.max_categories) != (None, None):
            raise BadModel(f"{place}: model files do not support groups of rare categories.")
        return {"categories_": list(estimator.categories_)}

    def _build(self, params: dict[str, Any], fields: Fields) -> Built:
        categories = fields.take("categories_", parts.list_of(parts.is_array))
        fields.require(
            len(categories) == fields.width
            and all(one.ndim == 1 and len(one) for one in categories),
            f"it does not have categories for each of {fields.width} columns",
        )
        listed = [objects(one.tolist()) for one in categories]
        row = objects([one[0] for one in listed]).reshape(1, -1)
        estimator = self.cls(**params | {"categories": listed}).fit(row)
        outputs = estimator.transform(row).shape[1]
        estimator.categories_, estimator.categories = categories, params.get("categories", "auto")
        return Built(estimator, fields.width, outputs)


class Steps(Record):
    """Pipeline: each step transforms the output of the previous one."""

    def fields(self, value: Any, place: str) -> dict[str, Any]:
        """Return the steps by name."""
        return {"steps": dict(value.steps)}

    def build(self, fields: dict[str, Any], place: str) -> Built:
        """Return the Pipeline of these steps, whose numbers of columns must agree."""
        found = Fields(fields, place)
        steps = found.take("steps", _are_named)
        inputs = width = None
        for name, step in steps.items():
            if step in (None, "passthrough"):
                continue
            fits = isinstance(step, Built) and width in (None, step.inputs)
            found.require(fits, f"step {short(name)} does not take {width} features")
            inputs = step.inputs if inputs is None else inputs
            width = step.outputs
        built = [(name, getattr(step, "estimator", step)) for name, step in steps.items()]
        return Built(Pipeline(built), inputs, width)


class Columns(Part):
    """ColumnTransformer: the columns of each transformer, by position, and by name if chosen so."""

    def _describe(self, estimator: Any, place: str) -> dict[str, Any]:
        positions = estimator._transformer_to_input_indices  # includes the remaining columns
        fitted = {name: part for name, part, _ in estimator.transformers_}
        given = {name: part for name, part, _ in estimator.transformers}
        by_name = {
            name
            for name, _, chosen in estimator.transformers
            if isinstance(chosen, list) and all(isinstance(each, str) for each in chosen)
        }
        columns = {}
        for name, part in {**given, "remainder": estimator.remainder}.items():
            taken = [int(column) for column in positions[name]]
            if not isinstance(part, str):
                part = fitted[name] if taken else "drop"  # not fitted without columns
            columns[name] = (part, taken, name in by_name)
        return {"sparse_output_": bool(estimator.sparse_output_), "columns": columns}

    def _build(self, params: dict[str, Any], fields: Fields) -> Built:
        is_flag = isinstance(params.get("verbose_feature_names_out", True), bool)
        fields.require(is_flag, "verbose_feature_names_out is neither True nor False")
        described = fields.take("columns", _are_named)
        is_sparse = fields.take("sparse_output_", parts.of_type(bool))
        listed = {column for _, taken, _ in described.values() for column in taken}
        fields.require(len(listed) == fields.width, "it does not name each column")
        plain, unfitted, fitted = list[Any](), list[Any](), dict[str, Any]()
        slices: dict[str, slice] = {}
        outputs = 0
        for name, (part, taken, by_name) in described.items():
            given, chosen = len(taken) if part == "passthrough" else 0, taken
            if by_name and fields.names is not None:
                chosen = [fields.names[column] for column in taken]
            if isinstance(part, Built):
                is_possible = part.inputs == len(taken) and part.outputs
                fields.require(is_possible, f"the columns {short(name)} cannot be transformed")
                fitted[name], given = part.estimator, part.outputs or 0
            plain.append((name, "passthrough" if name in fitted else part, taken))
            unfitted.append((name, clone(fitted[name]) if name in fitted else part, chosen))
            slices[name] = slice(outputs, outputs + given) if given else slice(0, 0)
            outputs += given
        weighting = params.pop("transformer_weights", None)
        is_possible = weighting is None or parts.weights(weighting)
        fields.require(is_possible, "its transformer_weights are not possible")
        estimator = ColumnTransformer(plain[:-1], remainder=plain[-1][1], **params)
        estimator.fit(np.zeros((1, fields.width)))
        estimator.transformers_ = [
            (name, fitted.get(name, part), taken) for name, part, taken in estimator.transformers_
        ]
        estimator.sparse_output_, estimator.output_indices_ = is_sparse, slices
        estimator.set_params(
            transformers=unfitted[:-1], remainder=unfitted[-1][1], transformer_weights=weighting
        )
        return Built(estimator, fields.width, outputs)


class Dropping(Part):
    """DropOutliers: the estimator that was fitted to the kept rows."""

    def _build(self, params: dict[str, Any], fields: Fields) -> Built:
        inner = fields.take("estimator_", parts.of_type(Built))
        is_possible = inner.outputs == parts.LEARNER and inner.inputs == fields.width
        fields.require(is_possible, "its estimator is not a learner of its columns")
        fields.require(number(params.get("threshold", 3.0)), "its threshold is not a number")
        estimator = DropOutliers(clone(inner.estimator), **params)
        estimator.estimator_, estimator.classes_ = inner.estimator, inner.estimator.classes_
        estimator.kept_ = fields.array("kept_", (np.bool_,), None)
        return Built(estimator, fields.width, parts.LEARNER)


def _are_named(value: Any) -> bool:
    """Return whether a value is a dict with names as keys, and not empty."""
    return isinstance(value, dict) and bool(value) and all(isinstance(name, str) for name in value)


_RARE = ("min_frequency", "max_categories")

register(
    Scaler(preprocessing.StandardScaler, attributes=("mean_", "var_", "scale_", _SEEN)),
    Scaler(
        preprocessing.MinMaxScaler,
        attributes=("min_", "scale_", "data_min_", "data_max_", "data_range_", _SEEN),
    ),
    Scaler(preprocessing.MaxAbsScaler, attributes=("scale_", "max_abs_", _SEEN)),
    Scaler(preprocessing.RobustScaler, attributes=("center_", "scale_")),
    Scaler(preprocessing.Normalizer),
    Products(preprocessing.PolynomialFeatures),
    Imputer(SimpleImputer, most_features=parts.MOST_CELLS // 2),
    Encoder(preprocessing.OneHotEncoder, left_out=_RARE),
    Encoder(preprocessing.OrdinalEncoder, left_out=_RARE),
    Steps(Pipeline),
    Columns(
        ColumnTransformer,
        left_out=("transformers", "remainder", "n_jobs", "verbose", "force_int_remainder_cols"),
    ),
    Dropping(
        DropOutliers,
        attributes=("kept_", "estimator_"),
        left_out=("estimator",),
        most_features=parts.MOST_FEATURES,
    ),
)
