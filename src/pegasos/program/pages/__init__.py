"""One page that shows what the numbers of a tuning run, a study or a model mean.

pegasos.report(sweep).save("report.html")
"""

from pegasos.program.pages.page import report, write_report
from pegasos.program.pages.play_page import play
from pegasos.program.pages.recording import join_experiments, record_experiment, record_model, record_sweep
from pegasos.program.pages.run_folders import save_record

__all__ = [
    "join_experiments",
    "play",
    "record_experiment",
    "record_model",
    "record_sweep",
    "report",
    "save_record",
    "write_report",
]
