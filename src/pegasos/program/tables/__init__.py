"""Reading, cleaning and describing tables of any size."""
