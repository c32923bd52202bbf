"""No secrets in a form: forms that ask for them, and answers that hold them.

A form's words and shape are read in many languages, through disguised letters, and together with the other
questions of its call; a "token budget" is no token. What a person typed is scanned before it leaves.
"""

from handraise.secrets.call import CallReading, require_no_secrets, require_none
from handraise.secrets.finding import SecretFinding
from handraise.secrets.judge import judge_form
from handraise.secrets.scan import scan_answer

__all__ = ["CallReading", "SecretFinding", "judge_form", "require_no_secrets", "require_none", "scan_answer"]
