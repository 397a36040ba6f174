"""Five published reports, one file each, found by listing this folder; files with _ hold what several of them share."""
