"""The vault: secrets that a page obtained, encrypted, bound to one person."""

from handraise.vault.keys import EphemeralKeys, KeyFile, KeySource, KeyVariable, SystemKeyring, default_keys
from handraise.vault.vault import SealedSecret, Secret, SecretInfo, SecretTable, Vault

__all__ = [
    "EphemeralKeys",
    "KeyFile",
    "KeySource",
    "KeyVariable",
    "SealedSecret",
    "Secret",
    "SecretInfo",
    "SecretTable",
    "SystemKeyring",
    "Vault",
    "default_keys",
]
