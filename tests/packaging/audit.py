"""Look for known vulnerabilities in the pinned dependencies: `python -m tests.packaging.audit`.

A vulnerability is a failure. The list of them is on the network: without it there is a notice, and no failure, because
tests run without a network, too.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

PINNED: Final = Path(__file__).parents[2] / "constraints.txt"
_UNREACHABLE: Final = re.compile(
    r"requests\.exceptions\.\w*(?:Connection|Timeout|Proxy|SSL|HTTP)\w*Error|Timeout: "
)
_SECONDS: Final = 120


def main(*options: str) -> int:
    """Run pip-audit over the pinned versions; the exit status."""
    command = [
        *(sys.executable, "-m", "pip_audit", "--requirement", str(PINNED), "--no-deps", "--disable-pip"),
        *(
            "--vulnerability-service",
            "osv",
            "--timeout",
            "5",
            "--format",
            "json",
            "--progress-spinner",
            "off",
        ),
        *options,
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        print(f"pip-audit: no answer within {_SECONDS} seconds; the dependencies were not checked.")
        return 0
    try:
        found = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        if _UNREACHABLE.search(done.stderr):
            print(
                "pip-audit: the list of vulnerabilities cannot be reached; the dependencies were not checked."
            )
            return 0
        print(done.stdout + done.stderr)
        return done.returncode or 1
    status = 0
    for each in found:
        for known in each.get("vulns", ()):
            status = 1
            fixed = ", ".join(known.get("fix_versions", ())) or "no version yet"
            print(f"pip-audit: {each['name']} {each['version']} has {known['id']}; fixed in {fixed}.")
    if skipped := [each["name"] for each in found if "skip_reason" in each]:
        print(f"pip-audit: not checked: {', '.join(skipped)}.")
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
