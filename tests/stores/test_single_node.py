"""A process knows whether another one of this computer is there."""

from __future__ import annotations

from handraise.stores.single_node import is_alive, process_name


def but(**parts: str) -> str:
    """Our own name with other parts."""
    names = dict(zip(("boot", "namespace", "pid", "began", "random"), process_name().split("/"), strict=True))
    return "/".join({**names, **parts}.values())


def test_this_process_is_there() -> None:
    assert is_alive(process_name())
    assert process_name() != process_name()


def test_a_number_that_was_given_again_is_another_process() -> None:
    assert not is_alive(but(pid="999999999"))
    assert not is_alive(but(began="1"))


def test_nothing_is_there_from_before_the_computer_was_started() -> None:
    assert not is_alive(but(boot="another"))


def test_a_process_of_another_container_may_be_there() -> None:
    assert is_alive(but(namespace="1", pid="999999999"))
