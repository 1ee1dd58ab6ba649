"""Reports: one HTML file that says what to set, how good it is and what more would buy; its short versions."""

from paraboloid.report.of_study import StudyView, study_subject
from paraboloid.report.page import html_report
from paraboloid.report.short import short_html, short_table, short_text
from paraboloid.report.subject import Rows, Subject
from paraboloid.report.writing import check_writable, write_report

__all__ = [
    "Rows",
    "StudyView",
    "Subject",
    "check_writable",
    "html_report",
    "short_html",
    "short_table",
    "short_text",
    "study_subject",
    "write_report",
]
