"""Requests that no browser sends: each is answered, and none makes the server stumble."""

from pathlib import Path
from typing import Any

import pytest

from support.served import copied

LONG = "9" * 5000
PATHS = [
    f"/trials/{LONG}",
    f"/trials/{LONG}/why",
    f"/trials/{LONG}/amend",
    f"/trials/{LONG}/result",
    f"/suggestions/{LONG}",
    f"/static/{LONG}",
    "/trials/999999999999999999999999",
    "/trials/-1",
    "/trials/0x10",
    "/trials/١",
    "/trials/%00",
    "/suggestions/%ff%fe",
    "/static/..%2f..%2fetc%2fpasswd",
    "/?" + "a=1&" * 3000,
]
BODIES = [
    f"key={{key}}&form={'a' * 24}&count={LONG}",
    f"key={{key}}&form={'a' * 24}&count=١",
    f"key={{key}}&form={'a' * 24}&count=²",
    f"key={{key}}&form={'a' * 24}&p0={LONG}&p1={LONG}&r0={LONG}",
    f"key={{key}}&form={'a' * 24}&p0=1e{LONG}&r0=-{LONG}",
    f"key={{key}}&form={'a' * 24}&p0=%ff%fe%00&p1=%ED%A0%80&r0=%00&note=%00%1b",
    f"key={{key}}&form={LONG}",
    "key=%ED%A0%80",
    "&&&===;;;%%%",
    "",
]


@pytest.fixture(scope="module")
def odd(looked_at, templates: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A campaign of its own, as some of these forms might change it."""
    return type(looked_at)(copied(templates["plain"], tmp_path_factory.mktemp("odd")))


@pytest.mark.parametrize("path", PATHS)
def test_an_address_that_nobody_has(looked_at, path: str) -> None:
    reply = looked_at.ada.client.get(path)
    assert reply.status_code < 500 or reply.status_code == 503, reply.text


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("path", ["/run", "/suggestions", "/trials/1/result", "/trials/1/amend", "/trials/1/undo"])
def test_a_form_that_nobody_filled_in(odd, path: str, body: str) -> None:
    ada = odd.ada
    key = ada.open("/").form("/suggestions")["key"]
    reply = ada.client.post(
        path,
        content=body.replace("{key}", key).encode(),
        headers={"content-type": "application/x-www-form-urlencoded"},
    )
    assert reply.status_code < 500, reply.text


@pytest.mark.parametrize("content", [b"", b"--x\r\n", b"\x00" * 100, b'--x\r\nContent-Disposition: form-data; name="a'])
def test_a_form_in_pieces(looked_at, content: bytes) -> None:
    reply = looked_at.ada.client.post(
        "/run", content=content, headers={"content-type": "multipart/form-data; boundary=x"}
    )
    assert 400 <= reply.status_code < 500


@pytest.mark.parametrize("header", [{"origin": "http://[::1"}, {"content-length": LONG}, {"cookie": "=;" * 2000}])
def test_a_header_that_is_none(looked_at, header: dict[str, str]) -> None:
    assert looked_at.ada.client.post("/run", content=b"a=1", headers=header).status_code < 500
