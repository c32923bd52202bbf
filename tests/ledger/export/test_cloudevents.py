"""CloudEvents, as the project's own SDK reads them."""

from __future__ import annotations

import json

import pytest
from cloudevents.core.formats.json import JSONFormat
from tests.ledger.export.test_formats import MANY, Source

from handraise.ledger import dump_event
from handraise.ledger.export import FORMATS


@pytest.mark.shows("G6")
async def test_the_sdk_of_the_standard_reads_every_line_with_the_whole_event() -> None:
    lines = [line async for line in FORMATS["cloudevents"](Source().events(), "origin")]
    read = [JSONFormat().read(None, line) for line in lines]
    events = [event async for _, event in Source().events()]
    assert len(read) == MANY
    for number, (cloud, event) in enumerate(zip(read, events, strict=True), 1):
        assert (cloud.get_id(), cloud.get_source()) == (event.id, "urn:handraise:ledger:origin")
        assert cloud.get_type() == f"handraise.question.{event.kind}"
        assert cloud.get_subject() == event.question
        assert (when := cloud.get_time()) is not None
        assert round(when.timestamp() * 1000) == event.time
        assert int(cloud.get_extension("sequence")) == number
        assert cloud.get_data() == json.loads(dump_event(event))
