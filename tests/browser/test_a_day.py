"""A chemist's day at the page, in a real browser: what is typed is what is recorded, whatever happens meanwhile."""

import re
import time
from pathlib import Path
from typing import Any

from tunedprior import Optimizer
from tunedprior.history.trials import History


def recorded(campaign: Path) -> History:
    return Optimizer.load(f"sqlite:///{campaign}").trials


def ask(one: Any, count: int = 1) -> list[int]:
    """Ask for suggestions; the numbers of all that are open then."""
    one.page.goto("/")
    one.page.get_by_label(re.compile("How many")).fill(str(count))
    one.page.get_by_role("button", name="Suggest what to run next").click()
    one.page.wait_for_url(re.compile(r"/#trial-\d+$"))
    return [int(found.get_attribute("id").split("-")[1]) for found in one.page.locator("article.card").all()]


def card(one: Any, number: int) -> Any:
    return one.page.locator(f"#trial-{number}")


def test_the_morning(person: Any, campaign: Path) -> None:
    ada = person()
    ada.page.goto("/")
    ada.picture("01 nothing told yet")
    assert ada.page.title() == "To run – dye 7"
    numbers = ask(ada, 2)
    assert numbers == [1, 2]
    ada.picture("02 two suggestions")
    first = card(ada, 1)
    first.get_by_label("yield").fill("61,5")
    first.get_by_label("Note").fill("a bit brown <b>")
    first.get_by_label("Who").fill("Ada")
    first.get_by_role("button", name="Record the result").dblclick()  # as people do
    ada.page.wait_for_url("**/trials/1")
    ada.page.get_by_text("first result that counts").wait_for()
    ada.page.get_by_text("Recommended setting (by the model)").wait_for()  # the page goes on by itself
    ada.picture("03 what changed")
    told = recorded(campaign).told
    assert [(one.value, one.note, one.extra["who"]) for one in told] == [(61.5, "a bit brown <b>", "Ada")]

    ada.page.goto("/")
    card(ada, 2).get_by_role("button", name="The run failed").click()
    ada.page.get_by_text("The run failed. The model learns").wait_for()
    assert [one.state for one in recorded(campaign).told] == ["complete", "failed"]
    ada.page.get_by_text("Ada", exact=True).first.wait_for()  # her name is kept
    ada.page.get_by_role("button", name="Take it back").click()
    ada.page.get_by_role("button", name="Record the result").wait_for()  # open again, under its number
    assert [one.id for one in recorded(campaign).pending] == [2]
    journal = Optimizer.load(f"sqlite:///{campaign}").journal
    assert [*journal["who"][journal["action"] != "suggest"]] == ["Ada", "Ada", "Ada"]


def test_a_wrong_value_is_mended(person: Any, campaign: Path) -> None:
    ada = person()
    ada.page.goto("/trials/2")
    ada.page.get_by_label("yield").fill("1,234")
    ada.page.get_by_label("Note").fill("hot")
    ada.page.get_by_text("It was run a little differently").click()
    ada.page.get_by_label("temperature").fill("47")
    ada.page.keyboard.press("Enter")  # from the keyboard alone
    ada.page.get_by_text("may be 1.234 or 1234").wait_for()
    ada.picture("04 a wrong value")
    assert ada.page.get_by_label("yield").input_value() == "1,234"
    assert ada.page.get_by_label("Note").input_value() == "hot"
    assert ada.page.get_by_label("yield").get_attribute("aria-invalid") == "true"
    ada.page.get_by_label("yield").fill("58.25")
    ada.page.get_by_role("button", name="Record the result").click()
    ada.page.wait_for_url("**/trials/2")
    told = recorded(campaign).told[-1]
    assert (told.value, told.note, told.setting["temperature"]) == (58.25, "hot", 47)
    ada.page.get_by_role("link", name="Correct it").click()
    ada.page.get_by_label("yield").fill("59,25")
    ada.picture("05 a correction")
    ada.page.get_by_role("button", name="Correct it").click()
    ada.page.wait_for_url("**/trials/2")
    assert recorded(campaign).told[-1].value == 59.25


def test_two_people_at_once(person: Any, campaign: Path) -> None:
    ada, bob = person(), person()
    bob.page.goto("/")
    (number,) = ask(ada)
    card(bob, number).wait_for()  # it appears on Bob's page by itself
    card(bob, number).get_by_label("yield").fill("70")
    card(ada, number).get_by_label("yield").fill("66")
    card(ada, number).get_by_role("button", name="Record the result").click()
    ada.page.wait_for_url(f"**/trials/{number}")
    bob.page.get_by_text("Somebody changed something meanwhile").wait_for()
    assert card(bob, number).get_by_label("yield").input_value() == "70"  # nobody took it away
    bob.picture("06 somebody changed something")
    card(bob, number).get_by_role("button", name="Record the result").click()
    bob.page.get_by_text("Somebody was faster").wait_for()
    bob.picture("07 somebody was faster")
    assert recorded(campaign).told[-1].value == 66


def test_a_page_that_takes_long_comes_all_the_same(person: Any, campaign: Path) -> None:
    bob = person()

    def slowly(route: Any) -> None:
        Optimizer.load(f"sqlite:///{campaign}").ask()  # something to show on the page that is being left
        time.sleep(2)
        route.continue_()

    bob.page.goto("/")
    bob.page.route("**/trials", slowly)
    bob.page.get_by_role("link", name="All trials").click()
    bob.page.get_by_role("heading", name="All trials").wait_for()


def test_a_phone_and_paper(person: Any) -> None:
    ada = person(viewport={"width": 360, "height": 740}, device_scale_factor=2, is_mobile=True, has_touch=True)
    ask(ada)
    ada.page.get_by_text("Predicted:").first.wait_for()
    for name, path in (("home", "/"), ("all trials", "/trials"), ("a run", "/run"), ("a trial", "/trials/1")):
        ada.page.goto(path)
        wide = ada.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 360, path
        ada.picture(f"08 phone, {name}")
    ada.page.set_viewport_size({"width": 794, "height": 1123})  # A4
    ada.page.goto("/trials")
    ada.page.emulate_media(media="print")
    assert not ada.page.get_by_role("navigation").is_visible()
    ada.picture("09 on paper")


def test_without_scripts(person: Any, campaign: Path) -> None:
    ada = person(java_script_enabled=False)
    before = len(recorded(campaign).told)
    number = ask(ada)[-1]
    card(ada, number).get_by_label("yield").fill("63")
    card(ada, number).get_by_role("button", name="Record the result").click()
    ada.page.wait_for_url(f"**/trials/{number}")
    ada.page.reload()
    ada.page.go_back()
    assert len(recorded(campaign).told) == before + 1
    ada.page.goto("/run")
    ada.page.get_by_label("temperature").fill("55")
    ada.page.get_by_label("acid").fill("0,4")
    ada.page.get_by_label("catalyst").select_option("Ni <Raney>")
    ada.page.get_by_label("yield").fill("64")
    ada.picture("10 a run of one's own")
    ada.page.get_by_role("button", name="Record the result").dblclick()  # no script keeps the second click back
    ada.page.wait_for_url(re.compile(r"/trials/\d+$"))
    assert len(recorded(campaign).told) == before + 2
    ada.page.goto("/trials")
    ada.picture("11 all trials")


def test_the_server_is_killed_and_started_again(person: Any, server: Any, campaign: Path) -> None:
    ada = person()
    number = ask(ada)[-1]
    card(ada, number).get_by_label("yield").fill("67,5")
    server.kill()
    ada.page.get_by_text("The server does not answer").wait_for()
    ada.picture("12 the server is away")
    server.start()
    ada.page.get_by_text("The server does not answer").wait_for(state="hidden")
    assert card(ada, number).get_by_label("yield").input_value() == "67,5"
    card(ada, number).get_by_role("button", name="Record the result").click()
    ada.page.wait_for_url(f"**/trials/{number}")
    assert recorded(campaign).told[-1].value == 67.5
    ada.page.get_by_text("Recommended setting (by the model)").wait_for()
    ada.page.goto("/")
    ada.page.get_by_text("Trust in old data").wait_for()
    ada.picture("13 the end of the day")
    assert all("ERR_CONNECTION_REFUSED" in said for said in ada.complaints)
    ada.complaints.clear()


def test_ctrl_c_ends_it(server: Any) -> None:
    assert server.end() == 0
