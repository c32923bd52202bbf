from pathlib import Path
from tempfile import mkdtemp

from handraise.forms import Form
from handraise.policy import (
    ALLOW,
    Admitted,
    CancelIt,
    CountedQuestion,
    Counts,
    Headless,
    JoinsWaiting,
    LimitDecision,
    OverLimit,
    OwnRule,
    Park,
    Policy,
    PolicyRule,
    RateLimits,
    Rulebook,
    RunHook,
    Settings,
    all_of,
    load_settings,
    not_,
    rule,
    sameness_of,
    standard_rules,
    warn,
)
from handraise.questions import FormQuestion, Origin


@rule("late")
def late(facts):
    return warn("It is late.") if facts.now % 86400 > 20 * 3600 else ALLOW


notes, question = Origin("notes", "python notes.py"), FormQuestion("Which one?", Form.of(str))
strict: PolicyRule = all_of(*standard_rules(Settings()), late)
policy = Policy(Settings(), [strict, not_(not_(late, "It is early."), "It is late indeed.")])
print(policy.judge(policy.facts(question, notes, now=12 * 3600)).verdict)

# How much one server may ask one person.
limits = RateLimits()
for number in range(12):
    ask = CountedQuestion(f"q{number}", "notes", "ada", f"{sameness_of(question)}{number}", call="c1")
    admission: LimitDecision = limits.admit(ask, now=0.0)
    match admission:
        case OverLimit(reason):
            print(number, "|", reason)
            break
        case Admitted() | JoinsWaiting():
            pass
counts: Counts = limits.counts("notes", "ada", "c1", now=0.0)
print(counts.waiting, "wait")

# A person's own rules.
book = Rulebook().add(OwnRule("notes", "block"))
print(book.find(notes, "ada", now=0.0).asking)

file = Path(mkdtemp()) / "handraise.toml"
file.write_text('[headless]\nrule = "cancel"\nreason = "At night nobody is here."\n')
decision: Headless = load_settings(file).headless.decision()
match decision:
    case CancelIt(reason):
        print(reason)
    case Park() | RunHook():
        print("somebody else decides")
