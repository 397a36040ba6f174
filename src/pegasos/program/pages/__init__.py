"""Pages that present the results of a tuning run, a study or a model.

pegasos.report(sweep).save("report.html")
"""

from pegasos.program.pages.page import read_page, report, write_report

__all__ = ["read_page", "report", "write_report"]
