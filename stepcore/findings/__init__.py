"""Findings: their codes and explanations, suggestions for misspelt names, the steps that finding them may cost."""
