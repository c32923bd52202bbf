"""The vault: secrets that a page obtained, encrypted, bound to one person."""

from handraise.vault.keys import EphemeralKeys, KeyFile, KeySource, KeyVariable, SystemKeyring, usual_keys
from handraise.vault.records import Kept, SealedSecret, SecretTable
from handraise.vault.secret import Secret
from handraise.vault.vault import Vault

__all__ = [
    "EphemeralKeys",
    "Kept",
    "KeyFile",
    "KeySource",
    "KeyVariable",
    "SealedSecret",
    "Secret",
    "SecretTable",
    "SystemKeyring",
    "Vault",
    "usual_keys",
]
