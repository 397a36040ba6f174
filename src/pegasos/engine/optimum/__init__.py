"""Exact optima with duality-gap certificates: problems, methods and the choice between them."""
