from pathlib import Path
from tempfile import mkdtemp

from handraise.lint import EVERYTHING, RULES, Finding, LintRule, RuleSelection, lint_paths, lint_text

source = """
@server.tool()
async def login(ctx):
    return await ctx.elicit("Your password, please.", Login)
"""
found: list[Finding] = lint_text(source, "server.py", EVERYTHING)
rules: dict[str, LintRule] = dict(RULES)
for finding in found[:2]:
    print(f"{finding.path}:{finding.line}", finding.code, rules[finding.code].title)

file = Path(mkdtemp()) / "server.py"
file.write_text(source)
print(len(lint_paths([file], RuleSelection(select=(found[0].code,)))))
