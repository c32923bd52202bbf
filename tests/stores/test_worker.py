"""The thread behind an SQLite file: one thing after the other, and gone with whoever had it."""

from __future__ import annotations

import gc
import threading
from queue import SimpleQueue

import pytest

from handraise.stores.sqlite.worker import Worker


def test_everything_is_done_in_order_by_one_thread_whoever_gave_it() -> None:
    worker, done = Worker("store"), SimpleQueue[tuple[int, str]]()

    def give(number: int) -> None:
        worker.do(lambda: done.put((number, threading.current_thread().name)))

    givers = [threading.Thread(target=give, args=(-1,)) for _ in range(8)]
    for giver in givers:
        giver.start()
    for giver in givers:
        giver.join()
    for number in range(100):
        give(number)
    told = [done.get(timeout=5) for _ in range(108)]
    assert told == [(-1, "store")] * 8 + [(number, "store") for number in range(100)]


@pytest.mark.slow
def test_the_thread_ends_with_its_last_owner() -> None:
    worker, threads = Worker("store"), SimpleQueue[threading.Thread]()
    worker.do(lambda: threads.put(threading.current_thread()))
    thread = threads.get(timeout=5)
    del worker
    gc.collect()
    thread.join(timeout=5)
    assert not thread.is_alive()
