"""Passwords in addresses, commands and files."""

from __future__ import annotations

import pytest

from handraise.secrets import scan_answer

HOLDING = [
    'mongosh "mongodb://localhost:27017" -u admin -p Lantern42x',
    "http -a kim:Lantern42x https://x.example/api",
    "net use Z: \\\\nas\\share Lantern42x /user:kim",
    "sqlcmd -S sql01 -U sa -P Lantern42x",
    "7z x a.7z -pLantern42x",
    "redis-cli -h cache -a Lantern42x ping",
    "kubectl create secret generic db --from-literal=password=Lantern42x",
    "db1.example.com:5432:shop:shop:Lantern42x",
    "kim:$apr1$gzBTILM9$FPxbo5Saot6IzxT7aZQZli",
    "<password>Lantern42x</password>",
    "wlan Heron5, key Lantern42x",
    "disney+ kim@example.org Lantern42!",
    "elastic:Lantern42xLantern@es01:9200",
    "[client]\\nuser=root\\npassword=Lantern42x",
]
HOLDING_NONE = [
    "mongosh -p 27017 works",
    "docker run -p 8080:80 nginx",
    "unzip -p file2.zip",
    "mysql -h db1 -u root shop",
    "login page /user/profile2@main",
    "user:1000:100:staff",
    "the wifi is 802.11ac / 802.11ax",
    "<token>required</token>",
    "PGPASSWORD=$PGPASSWORD psql",
    "kim@example.org: Tuesday at 10",
]


@pytest.mark.shows("S4")
@pytest.mark.parametrize("text", HOLDING)
def test_a_password_that_connects_to_something_is_found(text: str) -> None:
    assert scan_answer({"note": text})


@pytest.mark.shows("S4")
@pytest.mark.parametrize("text", HOLDING_NONE)
def test_a_command_without_a_password_raises_no_alarm(text: str) -> None:
    assert scan_answer({"note": text}) == ()
