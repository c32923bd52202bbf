"""No secrets in a form: forms that ask for them, and answers that hold them.

A form's words are read in many languages, through homoglyphs, invisible characters, spacing and leet;
a "token budget" is no token. What a person typed is scanned before it leaves.
"""

from handraise.policy.secrets.finding import SecretFinding
from handraise.policy.secrets.judge import judge_form, require_no_secrets
from handraise.policy.secrets.scan import scan_answer

__all__ = ["SecretFinding", "judge_form", "require_no_secrets", "scan_answer"]
