"""Stochastic updates: rules, losses, draws, compiled loops and their driver."""
