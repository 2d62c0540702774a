"""Children are followed with their parents: every record once, in the store's order, and each word once (H6, G2)."""

from __future__ import annotations

import asyncio
import gc

import pytest

from service.core.ids import TurnId
from service.core.signals import Queued, StoreBroken
from service.turns.feed import Feeds
from service.turns.follower import PAGE, Follower
from service.turns.session_loading import feed_of
from tests.turns.kin import TURN, Kin, answer, told, watching

pytestmark = [pytest.mark.anyio, pytest.mark.rules("H6", "G2")]


def of_session(kin: Kin, name: str, after_pos: int | None = None) -> Follower:
    return Follower(kin.feeds.of(next(s for s in kin.kept if s == name)), kin.log, after_pos=after_pos)


def of_turn(kin: Kin, name: str, after_pos: int | None = None, *, until_pause: bool = False) -> Follower:
    feed = kin.kept[next(s for s in kin.kept if s == name)]
    return Follower(feed, kin.log, after_pos=after_pos, turn=TURN, first_seq=2, until_pause=until_pause)


async def test_a_child_that_is_made_while_a_stream_is_open_joins_it_with_its_first_records() -> None:
    kin = Kin()
    root = await kin.session("root")
    async with watching(of_session(kin, root)) as watch:
        await watch.on()
        child = await kin.session("child", root)
        kin.say(child, "Hello")
        await watch.on()
        grandchild = await kin.session("grandchild", child)
        kin.say(grandchild, "Deep")
        await watch.on()
        kin.say(child, " there")
        await kin.append(child, answer("Hello there"))
        await kin.append(root, "handoff_returned")
        await watch.on()

    assert told(watch.events) == [
        ("root", "session_created"),
        ("root", "user"),
        ("root", "handoff_started"),
        ("child", "session_created"),
        ("child", "user"),
        ("child", "Hello"),
        ("child", "handoff_started"),
        ("grandchild", "session_created"),
        ("grandchild", "user"),
        ("grandchild", "Deep"),
        ("child", " there"),
        ("child", "assistant"),
        ("root", "handoff_returned"),
    ]
    assert watch.records == await kin.log.read_family(root, after_pos=0, limit=100)


async def test_what_a_child_wrote_and_nobody_told_of_yet_is_not_passed_over() -> None:
    kin = Kin()
    root = await kin.session("root")
    async with watching(of_session(kin, root, after_pos=2)) as watch:
        await watch.on()
        child = await kin.session("child", root, told=False)
        # Two sessions write at the same moment, and the later record is told of first.
        early = await kin.write(child, answer("Hello"))
        await kin.append(root, "turn_queued")
        await watch.on()
        kin.tell(early)
        await watch.on()

    assert told(watch.events) == [
        ("root", "handoff_started"),
        ("child", "session_created"),
        ("child", "user"),
        ("child", "Hello"),
        ("child", "assistant"),
        ("root", "turn_queued"),
    ]


@pytest.mark.parametrize("name", ["root", "child"])
async def test_a_step_whose_record_was_read_before_it_was_told_is_not_said_again(name: str) -> None:
    kin = Kin()
    root = await kin.session("root")
    child = await kin.session("child", root)
    session = root if name == "root" else child
    kin.say(session, "Hello")
    async with watching(of_session(kin, root)) as live:
        await live.on()
        written = await kin.write(session, answer("Hello"))
        await kin.append(root if session == child else child, "usage")
        assert told(await live.on()) == [(name, "assistant"), ("child" if name == "root" else "root", "usage")]
        async with watching(of_session(kin, root)) as late:
            assert ("assistant", name) == told(await late.on())[-2][::-1]
        kin.tell(written)
        assert await live.on() == []
        kin.say(session, "Next", step=2)
        assert told(await live.on()) == [(name, "Next")]


async def test_who_joins_gets_the_steps_in_flight_of_the_whole_family() -> None:
    kin = Kin()
    root = await kin.session("root")
    child = await kin.session("child", root)
    kin.say(child, "Half")
    kin.kept[child].publish_signal(TURN, Queued(position=2))
    async with watching(of_session(kin, root)) as watch:
        joined = await watch.on()
        kin.say(child, " a word")
        rest = await watch.on()

    assert told(joined)[-2:] == [("child", "queued"), ("child", "Half")]
    assert told(rest) == [("child", " a word")]


async def test_a_stream_is_resumed_behind_any_record_of_the_family() -> None:
    kin = Kin()
    root = await kin.session("root")
    child = await kin.session("child", root)
    await kin.append(child, "assistant", "usage")
    await kin.session("grandchild", child)
    await kin.append(root, "usage", "turn_finished")
    whole = list(await kin.log.read_family(root, after_pos=0, limit=100))

    for place, record in enumerate(whole, start=1):
        async with watching(of_session(kin, root, after_pos=record.pos)) as watch:
            await watch.on()
        assert watch.records == whole[place:]


@pytest.mark.rules("H7")
async def test_a_family_is_replayed_page_by_page() -> None:
    kin = Kin()
    root = await kin.session("root")
    child = await kin.session("child", root)
    for _ in range(PAGE):
        await kin.append(child, "usage")
        await kin.append(root, "usage")

    async with watching(of_session(kin, root, after_pos=0)) as watch:
        await watch.on()

    assert watch.records == await kin.log.read_family(root, after_pos=0, limit=1000)
    assert len(watch.records) == 2 * PAGE + 5


@pytest.mark.rules("H7")
async def test_the_log_is_not_asked_at_a_word_nor_by_a_session_that_is_alone() -> None:
    kin = Kin()
    root = await kin.session("root")
    async with watching(of_session(kin, root)) as alone, watching(of_session(kin, root, after_pos=0)) as resumed:
        await alone.on()
        await resumed.on()
        first = kin.log.reads
        for number in range(20):
            kin.say(root, f"word {number}")
            await kin.append(root, "usage")
            await alone.on()
            await resumed.on()
        assert kin.log.reads == first == 1

        child = await kin.session("child", root)
        await alone.on()
        joined = kin.log.reads
        for number in range(20):
            kin.say(child, f"word {number}")
            await alone.on()
        assert kin.log.reads == joined


@pytest.mark.rules("H7")
async def test_when_the_children_have_left_the_memory_the_log_is_left_alone_again() -> None:
    kin = Kin()
    root = await kin.session("root")
    child = await kin.session("child", root)
    async with watching(of_session(kin, root)) as watch:
        await watch.on()
        del kin.kept[child]
        gc.collect()
        await kin.append(root, "usage")
        await watch.on()
        before = kin.log.reads
        await kin.append(root, "usage")
        assert told(await watch.on()) == [("root", "usage")]
        assert kin.log.reads == before

        # It is loaded again: from now on anything may come of it.
        kin.kept[child] = kin.feeds.join(child, root)
        await kin.append(child, "user")
        assert told(await watch.on()) == [("child", "user")]


@pytest.mark.rules("H7")
@pytest.mark.parametrize("last", ["turn_finished", "usage"])
async def test_of_children_that_are_out_of_memory_nothing_is_remembered(last: str) -> None:
    kin = Kin()
    root = await kin.session("root")
    child = await kin.session("child", root)
    async with watching(of_session(kin, root)) as watch:
        for position in (3, 2, 1):
            kin.kept[child].publish_signal(TURN, Queued(position=position))
            await watch.on()
        await kin.append(child, last)
        await watch.on()

        # Loaded anew, it counts its signals from the beginning.
        del kin.kept[child]
        gc.collect()
        await kin.append(root, "usage")
        await watch.on()
        kin.kept[child] = kin.feeds.join(child, root)
        kin.kept[child].publish_signal(TURN, Queued(position=1))
        assert told(await watch.on()) == [("child", "queued")]


async def test_who_comes_back_to_a_session_in_memory_is_told_only_what_is_new() -> None:
    kin = Kin()
    root = await kin.session("root")
    await kin.append(root, "usage")
    async with watching(of_session(kin, root, after_pos=await kin.log.last_pos())) as watch:
        await watch.on()
        await kin.append(root, "turn_finished")
        await watch.on()

    assert told(watch.events) == [("root", "turn_finished")]


async def test_only_its_family_wakes_a_follower() -> None:
    feeds = Feeds()
    waker = asyncio.Event()
    kin = Kin()
    root, stranger = await kin.session("root"), await kin.session("stranger")
    child = await kin.session("child", root)
    grandchild = await kin.session("grandchild", child)
    of_stranger = await kin.session("of_stranger", stranger)
    kin.kept[root].attach_family(waker)

    woken: list[str] = []
    for session in (stranger, of_stranger, root, child, grandchild):
        waker.clear()
        kin.say(session, "word")
        woken += [session] if waker.is_set() else []
    kin.kept[root].detach(waker)
    waker.clear()
    kin.say(root, "word")

    assert woken == [root, child, grandchild]
    assert not waker.is_set()
    assert not feeds.of(root).has_children


@pytest.mark.rules("S4")
async def test_a_grandchild_that_runs_alone_after_a_restart_is_followed_from_the_root() -> None:
    kin = Kin()
    root = await kin.session("root")
    child = await kin.session("child", root)
    grandchild = await kin.session("grandchild", child)
    kin.kept.clear()
    gc.collect()
    kin.feeds = Feeds()
    row = await kin.log.session(grandchild)
    assert row is not None
    async with watching(Follower(kin.feeds.of(root), kin.log, after_pos=await kin.log.last_pos())) as watch:
        await watch.on()
        kin.kept[grandchild] = await feed_of(row, kin.feeds, kin.log)
        await kin.append(grandchild, "resumed")
        kin.say(grandchild, "Hello")
        await watch.on()

    assert told(watch.events) == [("grandchild", "resumed"), ("grandchild", "Hello")]


@pytest.mark.rules("S5")
async def test_a_childs_broken_store_is_told_and_the_parents_stream_goes_on() -> None:
    kin = Kin()
    root = await kin.session("root")
    child = await kin.session("child", root)
    async with watching(of_session(kin, root)) as watch:
        await watch.on()
        kin.kept[child].publish_signal(TURN, StoreBroken())
        assert told(await watch.on()) == [("child", "store_error")]
        await kin.append(root, "usage")
        assert told(await watch.on()) == [("root", "usage")]
        kin.kept[root].publish_signal(TURN, StoreBroken())
        await watch.on()
        assert watch.ended


@pytest.mark.rules("A6")
@pytest.mark.parametrize("after_pos", [None, 0])
async def test_the_stream_of_a_turn_tells_what_its_handoffs_wait_for_and_no_more_of_them(after_pos: int | None) -> None:
    kin = Kin()
    root = await kin.session("root")
    async with watching(of_turn(kin, root, after_pos)) as watch:
        await watch.on()
        child = await kin.session("child", root)
        kin.say(child, "Let me see")
        await watch.on()
        await kin.append(child, "assistant", "approval_requested")
        await watch.on()
        assert told(watch.events)[-1] == ("child", "approval_requested")
        await kin.append(child, "approval_decided", "turn_finished")
        await kin.append(child, "approval_requested", turn=TurnId("trn_of_somebody_else"))
        await kin.append(root, "handoff_returned", "turn_finished")
        await watch.on()
        assert watch.ended

    assert told(watch.events) == [
        ("root", "user"),
        ("root", "handoff_started"),
        ("child", "approval_requested"),
        ("child", "approval_decided"),
        ("root", "handoff_returned"),
        ("root", "turn_finished"),
    ]
    for place, record in enumerate(watch.records[:-1], start=1):
        async with watching(of_turn(kin, root, record.pos)) as resumed:
            await resumed.on()
        assert resumed.records == watch.records[place:]


@pytest.mark.rules("H1")
async def test_the_stream_of_a_request_ends_at_the_next_pause_of_the_turn_or_of_its_handoffs() -> None:
    kin = Kin()
    root = await kin.session("root")
    await kin.append(root, "approval_requested", "approval_decided")
    child = await kin.session("child", root)
    await kin.append(child, "approval_requested", "approval_decided", "turn_finished")
    await kin.append(root, "handoff_returned", "turn_finished")

    places: list[int | None] = [None]
    seen: list[list[str]] = []
    for _ in range(3):
        async with watching(of_turn(kin, root, places[-1], until_pause=True)) as watch:
            await watch.on()
            assert watch.ended
        places.append(watch.records[-1].pos)
        seen.append([record.type for record in watch.records])

    assert seen == [
        ["user", "approval_requested"],
        ["approval_decided", "handoff_started", "approval_requested"],
        ["approval_decided", "handoff_returned", "turn_finished"],
    ]
