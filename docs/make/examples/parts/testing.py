from handraise.testing import (
    LedgerContract,
    SecretsContract,
    StoreContract,
    TicketsContract,
)

# Subclass one in a test module of yours and give it its fixture: every test in it then runs on your store.
for contract in (StoreContract, SecretsContract, TicketsContract, LedgerContract):
    tests = [name for name in dir(contract) if name.startswith("test_")]
    print(contract.__name__, len(tests) > 3)
