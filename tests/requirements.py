"""Every requirement by its id, and which tests show it.

A test names what it shows: `@pytest.mark.shows("N1", "N2")`. MUST and SHOULD are the protocol's
own words; "own" is ours. Revisions: A = 2025-06-18, B = 2025-11-25, C = 2026-07-28.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

PARTS: dict[str, dict[str, str]] = {
    "Negotiation": {
        "N1": (
            "A client declares `elicitation` and supports at least one mode. `{}` means form only (MUST)."
        ),
        "N2": (
            "A server never sends a mode, or any input request, that the client did not declare "
            "(MUST). On C a missing capability is error -32021 with the required capabilities in "
            "`data`, or `NotSupported` to the author."
        ),
        "N3": (
            "A client that gets an undeclared mode answers -32602 (A, B); on C the call ends with an "
            "error to the host and no retry. A request without `mode` is a form (MUST), even when it "
            "has a `url`."
        ),
        "N4": (
            "A client declares exactly the modes its desk can show; nothing when there is no desk "
            "(own; the SDK declares both whenever a callback is set). Where a framework builds the "
            "session itself, as far as it lets us."
        ),
        "N5": (
            "`NotSupported` is typed per mode; `fallback=` gives `Fallback(value)`, never `Accepted`,"
            " recorded as not asked; another path is the author's; clients that cannot be asked are "
            "the gateway's job. Uncaught: -32021 with HTTP 400 on C (MUST), tool error on A and B. "
            "-32042 goes only to clients that declared URL mode and lists only URL elicitations."
        ),
        "N6": "Form needs A or later, URL mode needs B or later; code written once runs on all three.",
        "N7": "C: capabilities are read from each request's `_meta`, not from a session.",
        "N8": (
            "The server kit and the client kit work on every release of mcp from 1.23 to the newest "
            "2.x, and of FastMCP from 2.14 to the newest 4.x. A feature that a release lacks is "
            "refused by name with the release that has it. An unsupported release gives one clear "
            "sentence (also from `doctor`), never a traceback."
        ),
        "N9": (
            "No private name of another package is used outside `sdk/private.py`; each one there has a "
            "public fallback or a clear refusal. Importing `handraise` never fails because a private name moved."
        ),
    },
    "Forms": {
        "F1": (
            "Only a flat object of primitive properties; nesting, `$ref`, free arrays, arrays of "
            "objects are refused where they are defined and where they arrive."
        ),
        "F2": (
            "string: minLength, maxLength, pattern (B, ignored on C), format email, uri, date, date-"
            "time. number and integer: minimum, maximum. boolean. Every one: name, title, "
            "description, required, default."
        ),
        "F3": (
            "Single choice: `enum`, titled `oneOf[{const,title}]`, legacy `enum`+`enumNames`. "
            "Multiple: array with `items.enum` or `items.anyOf[{const,title}]`, minItems, maxItems. "
            "Only what the revision knows is sent: A has `default` on booleans only, titles only as "
            "`enumNames`, no `pattern`, no multiple choice; what cannot be sent is still checked by "
            "the server. `pattern` takes a `re.Pattern`; flags are refused."
        ),
        "F4": (
            "Defaults of every type are pre-filled, marked as the server's suggestion, and sent when "
            "the person leaves them; clearing one sends nothing; falsy defaults count; confirmations "
            "and guards ignore them."
        ),
        "F5": "Options computed at run time; definitions reusable and checked when made, not when sent.",
        "F6": (
            "The answer is checked before it is sent and again when it is received; all problems at "
            "once; no coercion, no clamping; unknown fields refused; `accept` without required "
            "content refused."
        ),
        "F7": "Property order as the author wrote it, on the wire and on screen.",
        "F8": (
            "Hostile schemas are bounded: 1 MiB a request, 50 fields, 2,000 options, 64 KiB "
            "of message, depth 8 (defaults, configurable), duplicate keys and `1e999` refused; a "
            "pathological `pattern` costs linear time."
        ),
        "F9": "An empty form is a plain yes/no/dismiss question.",
        "F10": (
            "Typed results: a pydantic model in gives that model out; a dataclass a dataclass; a "
            "choice from an Enum gives the member."
        ),
    },
    "Outcomes": {
        "O1": (
            "accept, decline, cancel stay three different things from the key pressed to the ledger. "
            "Content only on an accepted form."
        ),
        "O2": (
            "No answer (`NotSupported`, `Expired`, `Withdrawn`, `Failed`) is never reported as "
            "decline, and a JSON-RPC error as an answer ends the wait at once. Nobody saw it = cancel"
            " on the wire, with the reason in the ledger."
        ),
        "O3": ("decline and cancel never crash, hang or loop a server; unknown action strings are refused."),
        "O4": (
            "Escape, a closed dialog, a browser that fails to open: cancel. The decline control: "
            "decline. Closing a tab of the web desk leaves the question pending."
        ),
        "O5": (
            "Chained questions (deadline, then team size, then budget) with per-call cap; `ask` in a "
            "tight loop is refused after the cap with a clear error."
        ),
        "O6": (
            "Post-answer re-check helper: the world may have changed while the person thought (note "
            "gone, root removed)."
        ),
        "O7": (
            "Cancelling the call withdraws its question from the desk, at once. At the gateway, a "
            "held call that its client cancels (its own timeout) stays answerable for a grace time "
            "(10 minutes, a setting): the same person's same call joins it while its server process "
            "lives. A cancel for a call that was already answered is ignored."
        ),
        "O8": (
            'A confirmation answered with "no" is shown, recorded, filtered and counted as *said no*: never as '
            "accepted, and apart from *declined*."
        ),
        "O9": (
            "A question that a client or policy refused before a person saw it reaches the author as `Failed` with "
            "the reason wherever our server and our desk talk to each other; a decline or cancel that came faster "
            "than a person can read carries how long it took."
        ),
        "O10": (
            "`or_stop()` makes no claim about what the tool did before. A polite end is not a tool failure in the log."
        ),
        "O11": (
            "A time limit around a question counts the person's time. `working_time(seconds)` counts only the "
            "body's own."
        ),
    },
    "Secrets": {
        "S1": (
            "Form mode never asks for passwords, passphrases, PINs, one-time codes, API keys, tokens,"
            " private keys, seed phrases, payment data (MUST). Server kit refuses at definition, "
            "naming the field and the page to use."
        ),
        "S2": (
            "National ids: the server kit refuses at definition, client and gateway warn by default. "
            "General contact data is allowed; the preset `strict` refuses all personal data in forms."
        ),
        "S3": (
            "Detection reads names, titles, descriptions, message and options, in many languages; "
            'survives homoglyphs, zero-width characters, spacing and leet; does not fire on "token '
            'budget", "password policy", "public key", "keyboard", "primary key", "pin location", '
            "negations. On labelled sets: recall of credentials at least 0.95, false alarms at most "
            "0.03."
        ),
        "S4": (
            "What the person typed is scanned before it leaves: key prefixes, PEM, Luhn card numbers,"
            " seed phrases, DSNs. Found: stop, say why, offer to go back."
        ),
        "S6": (
            "Journalled answers, drafts and settled results are encrypted at rest, files are private "
            "to the user, and all are deleted when the call or retry window ends."
        ),
        "S5": (
            "Secrets never in logs, ledger, exceptions, tracebacks, `repr`, traces or the model's context."
        ),
    },
    "URLs and pages": {
        "L1": (
            "Request: url + message (+ elicitationId: required on B, also sent on C, where some "
            "clients need it and none minds); no schema; answer has no content. `accept` means "
            "consent to open, sent at consent; completion is separate, may even come first, and "
            "content on a URL accept (a callback URL, a token) is dropped and never counts as "
            "completion."
        ),
        "L2": (
            "B: `notifications/elicitation/complete` with the same id, only to the client that was "
            "asked; unknown or finished ids ignored by the client. The author may choose the id; "
            "`complete(elicitation_id, person=…)` works from any process and is refused without the "
            "verified person."
        ),
        "L3": (
            "B: -32042 with the list of elicitations; client driver: consent, open, wait, retry; "
            "declines and timeouts end it. Never on A or C."
        ),
        "L4": (
            "C: the retry blocks while the browser flow runs (bounded), then result or the same "
            "question again; never a stream of state-only rounds. While a flow runs the client offers"
            " retry and cancel (SHOULD)."
        ),
        "L5": (
            "Client MUST: show the full URL before consent; never pre-fetch; never open without "
            "consent; open outside the client's reach; no shell. SHOULD: emphasise the domain; warn "
            "on punycode and suspicious forms; nothing else clickable."
        ),
        "L6": (
            "Server MUST NOT: personal data or credentials in the URL; a pre-authenticated URL. "
            "SHOULD: https outside development; no URLs in a form's text (the desk warns). Checked "
            "when the question is made."
        ),
        "L7": (
            "The finisher MUST be the starter: another person who opens the asker's link gets "
            "nothing, the asker's question stays open (identity is checked before anything is "
            "consumed), and the ledger has it."
        ),
        "L8": (
            "OAuth to a third party: PKCE, single-use state bound to browser session and person, "
            "`iss` checked, tokens stored bound to the person, refresh; the client's own token is "
            "never used there; third-party tokens never reach client, model or log; URL mode never "
            "authorises anyone to the MCP server itself (MUST NOT); the connect page names client, "
            "tool, service and scopes before `state` is set; exact redirect URI, least scopes, "
            "`__Host-` cookies."
        ),
        "L9": (
            "Pages: CSP, no framing, no store, Host list against rebinding, CSRF, one-time links, "
            "expiry, no outside resources; work in a real browser (tested there)."
        ),
        "L10": (
            "Local servers: loopback, nonce path, peer uid where the system tells it, typed code elsewhere."
        ),
        "L11": (
            "Vault: AES-GCM envelope, owner and row in the associated data (rows cannot be swapped), "
            "key rotation; no plaintext fall-back."
        ),
        "L12": (
            "URL verdicts follow the browser's own parse; raw tricks (backslash, userinfo, `%` in "
            "host, full-width dots, hex IP, RTL) are called what they are."
        ),
    },
    "Ledger": {
        "G1": (
            "Every elicitation is an event: asked, shown, decided, opened, completed, used, refused, "
            "expired, withdrawn, failed, ambiguous."
        ),
        "G2": (
            "Fields: server (configured id, origin or command, what it calls itself), client name and"
            " version, protocol revision, gateway id; principal and how it was authenticated; mode; "
            "the message exactly as shown (erasable reference and keyed hash); field names and types,"
            " schema hash, secret verdicts; URL registrable domain, host, verdict and reasons (never "
            "query values); action; decided by human, policy, agent or timeout; edited fields; "
            "latency; request method, tool, argument digest; which later call used the answer and how"
            " it ended; policy version; time; trace id."
        ),
        "G3": (
            "Contents are not stored beyond policy; default: none, only keyed hashes. Erasing a "
            "record's content leaves verification intact."
        ),
        "G4": (
            "Tamper-evident: changed, removed, reordered, truncated or re-chained records, checkpoints, contents "
            "and side columns are found by `verify` with the ledger's key alone, and with a checkpoint kept "
            'elsewhere also by somebody without it. With neither the verdict is "unproven".'
        ),
        "G4b": (
            "Erasing removes contents from the disk, write-ahead log included, or says that it could not yet."
        ),
        "G5": "The event is durable before the answer is used. Nothing is lost at kill -9.",
        "G6": (
            "Show, filter, verify, export (JSON Lines, CloudEvents, CSV, OpenTelemetry), report as a "
            "page with charts; retention."
        ),
        "G7": 'Refusals are as visible as consents; "approved" joins to the execution it allowed.',
    },
    "Desk and client control": {
        "D1": (
            "Which server asks is always on screen (MUST), from the user's configuration, with tool "
            "and arguments (if the host cannot tell which call asks: the calls in flight, and that it"
            " is unknown); server text never in titles; in buttons only quoted after our own word (Yes: "
            "“Delete 47 files”), made inert, at most 40 characters."
        ),
        "D2": (
            "Decline and cancel always possible and visible (MUST). Everything can be reviewed and edited before it "
            "is sent (MUST): a form stays editable until it is sent; a second look is asked for only when something "
            "is odd."
        ),
        "D2b": (
            "The question is the first and largest thing on the screen. The main action is in sight without "
            "scrolling, at 80x24, 390 and 1280 pixels."
        ),
        "D2c": (
            "A confirmation is answered with one click or key after the half-second guard. From notice to answer: "
            "two clicks."
        ),
        "D2d": (
            "After a re-ask every right value is still there; the wrong field is marked, by its label, with the reason."
        ),
        "D2e": "The server's deadline is shown; an expired or withdrawn question cannot be answered.",
        "D2f": (
            "Limits (message, fields, options) are checked where the question is made, are the same at the desk, are "
            "documented and configurable. Long messages scroll, long lists are searchable."
        ),
        "D3": "Why, what is sent, where it travels, what happens on decline.",
        "D4": (
            "Unanswered is not false and not the first option. Nothing preselected on consent. Type-"
            "ahead cannot consent."
        ),
        "D5": "Per-server allow, mute, block (session or always), list and undo.",
        "D6": (
            "Limits: questions a round, one dialog at a time, per minute and hour, quiet time after "
            "decline; 3,000 prompts in one call become a handful and a refusal."
        ),
        "D7": "Server text is inert: ANSI, OSC, C1, bidi, zero-width, tags, HTML, Markdown.",
        "D8": (
            "Queue with count; a batch shown as one; drafts survive interruption and reload; first "
            "answer wins, once."
        ),
        "D9": (
            "Headless: parked with an id and JSON, or the policy's rule, or a hook command; never invented."
        ),
        "D10": (
            "Accessible: labels, error summary, focus to the first error, keyboard only, NO_COLOR, "
            "screen-reader line mode, 80x24."
        ),
    },
    "Uses and guards": {
        "U1": (
            'Confirm the irreversible with real counts ("47 files", "2,000 contacts"); typed '
            "confirmation option."
        ),
        "U2": (
            "Disambiguate (notes, repositories, accounts); missing context (timezone, locale); staged"
            " input; deploy target form."
        ),
        "U3": "`destructiveHint` and rules add a question in front of tools of servers that do not ask.",
        "U3b": (
            "Hints are untrusted: `destructiveHint` counts as true when absent; a rule decides, default ask."
        ),
        "U4": (
            "SQL guard: estimate before running; above the threshold, or touching personal-data "
            "columns (named in the question), ask; on decline the query never runs and the ledger "
            "says user-declined; when it cannot be asked or estimated: refuse by default (fail "
            "closed). One question, not two; consent remembered per statement only."
        ),
        "U5": (
            "When not to ask: a lint for questions the model could have asked in prose, inside loops,"
            " or that validation after the fact would settle."
        ),
        "U6": (
            "Form designer: from a tool's signature to trigger, message, schema, branch table, rate "
            "rule and form-or-URL verdict."
        ),
        "U7": "Combined with sampling inside one body.",
    },
    "Roots": {
        "B1": (
            "Client kit: roots from the user's configuration, file URIs only, existence and "
            "permission checked, consent before exposing, -32601 when undeclared, list_changed when "
            "the set or its accessibility changes (legacy). Server re-reads on the notice; on C roots"
            " are fetched per call, deprecated there: configuration is preferred, and both together "
            "mean the intersection."
        ),
        "B2": (
            "Reads and writes outside are refused: `..`, encoded, symlink swapped in a race, prefix "
            "look-alikes (`Notes-evil`), hard links by option. No roots = nothing allowed, not "
            "everything."
        ),
        "B3": "A change swaps the set atomically; open handles that fell out of scope stop working.",
        "B4": (
            "Never widened by the server; no hard-coded or guessed paths; a miss is an error that "
            "names the boundary."
        ),
        "B5": "file URIs decoded strictly.",
    },
    "Calls": {
        "C1": "In-body questions in order on A, B, C; effects before and between questions happen once.",
        "C2": (
            "`requestState`: tampered, expired, other person, other authenticated client, other tool,"
            " other arguments (never keyed by session id alone): one public error, nothing runs. "
            "State bounded in size."
        ),
        "C3": "Same round twice: same outcome, one execution. Round of another call: refused.",
        "C4": "Volatile messages do not re-ask. Changed questions (redeploy) do.",
        "C10": (
            "An answer that comes without having been asked is used only where "
            "`unsafe_preanswer=True`; never for confirmations and guards; the ledger says not shown."
        ),
        "C5": (
            "Invalid answer: asked again with the problems; missing answer: asked again; unknown keys"
            " ignored."
        ),
        "C6": (
            "Restart or other node: replayed if declared replayable, else refused cleanly. `once` "
            "results survive."
        ),
        "C7": "prompts/get and resources/read too; never on other methods.",
        "C8": (
            "Abandoned calls end at their deadline: task cancelled, memory freed, `Expired` in the ledger."
        ),
        "C9": (
            "No frames, tasks or rows left behind after 10,000 calls that were answered, "
            "declined, cancelled or dropped."
        ),
    },
    "Gateway": {
        "W1": (
            "All four revision cells, both modes, several rounds; `requestState` untouched; ids and "
            "progress tokens mapped; cancellation both ways."
        ),
        "W2": (
            "Client without elicitation: page, hold with progress, park, `resume`; idempotent; "
            "principal-bound; survives the client's reconnect."
        ),
        "W3": (
            "Everything that is not a question arrives as it was meant (tools, resources, prompts, "
            "completion, logging, notifications, unknown methods and fields). Every message is parsed "
            "under limits and written anew on one line; what cannot be parsed, has no valid id, or names "
            "a member twice (in another case: only protocol members and the arguments of guarded tools) "
            "is refused to its sender and never passed on."
        ),
        "W3b": (
            "Questions are judged and recorded wherever they appear: requests, rounds, tasks, -32042, on "
            "every revision."
        ),
        "W3c": (
            "A client is believed by what it does. A decline or cancel within 0.5 seconds (a setting) brings the "
            "question to the desk too; a slower one is final. An accept that misses required content brings it to "
            "the desk. An accept within 0.5 seconds counts and is recorded `by client`, except for guards, where it "
            "goes to the desk. No answer within the hold brings it to the desk, and the first answer wins. The "
            "ledger says why."
        ),
        "W3d": (
            "A result of a call that a restarted server cannot know is never promised: a new call after that is a "
            "new call."
        ),
        "W4": (
            "Policy, guards and ledger apply to every question; the true origin server is always "
            "shown, never the gateway's own name."
        ),
        "W5": "Two servers behind one gateway never mix up; names collide safely.",
        "W6": "Upstream crash while asked: `ambiguous`, never re-run by itself.",
        "W8": (
            "Incoming tokens are audience-checked and never forwarded upstream; upstream OAuth is the"
            " gateway's own, per person; discovery is https, private ranges blocked when the gateway "
            "is shared."
        ),
        "W9": (
            "The model never gets what would suffice to answer: not in results, arguments, logs or "
            "standard error. A process that the client started, directly or through launchers and "
            "helpers, cannot open the desk, sign in with a link it saw, or write into the server's "
            "input; nor can another user of the machine. An unknown owner, peer or parent means no. "
            "Where the system gives no process facts (macOS, Windows, a hidden /proc), the desk opens "
            "with a passkey or with a code shown only at the person's own terminal."
        ),
        "W9b": "By rule, a guard or a typed confirmation needs a passkey at the web desk.",
        "W7": (
            "HTTP side: bearer-token principals, Origin and Host checks, body limits; one person "
            "never sees or answers another's question."
        ),
    },
    "Scale": {
        "X1": "Store contract identical on memory, SQLite, PostgreSQL.",
        "X2": (
            "Two nodes on 2026-07-28: asked on one, answered on the other, used once; node killed; database restarted. "
            "Older revisions need sticky routing; the documentation shows it with nginx."
        ),
        "X3": "100,000 pending questions on one node with PostgreSQL; figures in the benchmark.",
        "X4": (
            "The same request dispatched twice (proxy retry, same JSON-RPC id): one question. Its "
            "question id (round key, `_meta`) is a keyed hash of person, session, JSON-RPC id, "
            "sequence and content. Elicitation ids, links and tickets are random. Two deliberate "
            "identical calls stay two."
        ),
    },
    "Documents": {
        "T1": (
            "Client-support matrix, comparison with asking in chat / upfront arguments / a custom "
            "tool, one wire trace per flow and revision, Inspector walkthrough, an open question on "
            "URL callbacks; claims name the protocol revision, security claims cite the spec page."
        ),
    },
}

REQUIREMENTS: dict[str, str] = {id_: sentence for part in PARTS.values() for id_, sentence in part.items()}


def claims_in(source: str) -> Iterator[tuple[int, str]]:
    """Each id that a `pytest.mark.shows(...)` names, with its line, wherever the mark stands."""
    return claims_below(ast.parse(source))


def claims_below(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The same, for a part of a module."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or getattr(node.func, "attr", "") != "shows":
            continue
        if ast.unparse(node.func) == "pytest.mark.shows":
            for argument in node.args:
                if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
                    raise ValueError(f"line {argument.lineno}: an id is written out, never computed")
                yield argument.lineno, argument.value


def own_files(tests: Path = Path(__file__).parent) -> list[Path]:
    """The modules of our own tests, without what strangers brought along."""
    found = []
    for folder, folders, files in os.walk(tests):
        folders[:] = [name for name in folders if not name.startswith((".", "node_modules"))]
        found += [Path(folder, name) for name in files if name.endswith(".py")]
    return sorted(found)


@cache
def claims(tests: Path = Path(__file__).parent) -> dict[str, list[str]]:
    """Where each id is claimed to be shown, as `path:line`."""
    found: dict[str, list[str]] = {}
    for path in own_files(tests):
        with suppress(SyntaxError):  # pytest says so itself
            for line, id_ in claims_in(path.read_text(encoding="utf-8")):
                found.setdefault(id_, []).append(f"{path.relative_to(tests)}:{line}")
    return found
