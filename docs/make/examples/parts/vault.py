import asyncio

from handraise import MemoryStore, Person
from handraise.errors import SetupError
from handraise.vault import (
    EphemeralKeys,
    KeySource,
    KeyVariable,
    SealedSecret,
    Secret,
    SecretInfo,
    SecretTable,
    SystemKeyring,
    Vault,
    default_keys,
)

ada, ben = Person("https://id.example", "ada", "token"), Person("https://id.example", "ben", "token")
keys: KeySource = EphemeralKeys()
table: SecretTable = MemoryStore().secrets
vault = Vault(table, lambda: keys)


async def main() -> None:
    await vault.keep(ada, "github", {"token": Secret("ghp_abc").reveal()})
    print(await vault.find(ada, "github"), await vault.find(ben, "github"))
    kept: list[SecretInfo] = await vault.list(ada)
    print([each.service for each in kept])
    rows: list[SealedSecret] = await table.all()
    print(len(rows), "ghp_abc" in repr(rows))


asyncio.run(main())
try:
    KeyVariable("TEA_KEY", {}).load()
except SetupError:
    print("no key in the variable")

chosen = default_keys({"HANDRAISE_VAULT_KEY": "ab" * 32})  # a variable, a file, or else the SystemKeyring
print(type(chosen).__name__, isinstance(chosen, SystemKeyring))
