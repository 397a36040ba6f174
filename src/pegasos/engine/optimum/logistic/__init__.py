"""Methods for the logistic loss."""
