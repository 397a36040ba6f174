"""Methods for the hinge loss."""
