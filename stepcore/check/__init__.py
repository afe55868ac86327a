"""Checking: text in, findings out. Nothing here imports torch, and nothing raises on user input."""

from stepcore.check.files import CheckResult, check_text
from stepcore.check.fixing import fix_text
from stepcore.check.programs import Checked, ImplChecker, check_impl

__all__ = ["CheckResult", "Checked", "ImplChecker", "check_impl", "check_text", "fix_text"]
