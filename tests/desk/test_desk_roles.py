"""Who may call which page: a table over all routes, so that none can be forgotten."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from desks import by_token, client, desk_in, form_token, signed_in
from starlette.responses import Response
from starlette.routing import Route
from starlette.testclient import TestClient

from ioplan_lab import Desk, Role, create_app

FOR = {
    "GET /sign-in": None,
    "POST /sign-in": None,
    "GET /static/{digest}/{name}": None,
    "POST /sign-out": "viewer",
    "GET /": "viewer",
    "GET /now/jobs": "viewer",
    "GET /now.json": "viewer",
    "GET /report": "viewer",
    "GET /report/page": "viewer",
    "GET /history/{id}": "viewer",
    "GET /history/{id}/page": "viewer",
    "GET /compare": "viewer",
    "GET /start": "operator",
    "POST /start/check": "operator",
    "POST /start/edit": "operator",
    "POST /start/run": "operator",
    "POST /jobs/{id}/cancel": "operator",
    "GET /sessions": "viewer",
    "GET /sessions.json": "viewer",
    "GET /drives": "viewer",
    "GET /drives/{id}": "viewer",
    "POST /drives/{id}/tags": "operator",
    "GET /hosts/{id}": "viewer",
    "GET /jobs/{id}": "viewer",
    "GET /jobs/{id}/now": "viewer",
    "GET /jobs/{id}/log/{session}": "viewer",
    "GET /sign-in/oidc": None,
    "GET /sign-in/oidc/done": None,
    "GET /sign-in/oidc/out": None,
    "GET /people": "admin",
    "GET /metrics": "viewer",
    "GET /queue": "viewer",
    "POST /queue/{id}/move": "operator",
    "POST /queue/{id}/cancel": "operator",
    "GET /reservations": "viewer",
    "POST /reservations": "operator",
    "POST /reservations/release": "operator",
    "POST /drives/out-of-service": "admin",
    "POST /drives/in-service": "admin",
    "GET /schedules": "viewer",
    "POST /schedules": "operator",
    "POST /schedules/{id}/remove": "operator",
    "GET /consents": "viewer",
    "POST /consents": "admin",
    "POST /consents/{id}/remove": "admin",
    "GET /hooks": "admin",
    "POST /hooks": "admin",
    "POST /hooks/{id}/remove": "admin",
}
"""The least role of each route; a page that is missing here fails a test."""
FILLED = {
    "{session}": "20261122-000000-none-001",
    "{digest}": "0",
    "{name}": "desk.css",
    "{id}": "20261122-000000-none",
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """One desk; nothing here changes it."""
    with desk_in(tmp_path_factory.mktemp("desk")) as made:
        yield made


@pytest.fixture(scope="module")
def programs(shared: Desk) -> dict[str | None, TestClient]:
    """Somebody without a token, and a program of each role."""
    return {None: client(shared), **{role: by_token(shared, role) for role in Role}}


def path_of(route: str) -> str:
    path = route.split(" ", 1)[1]
    for name, text in FILLED.items():
        path = path.replace(name, text)
    return path


def called(browser: TestClient, route: str, **sent: str) -> Response:
    method, path = route.split(" ", maxsplit=1)[0], path_of(route)
    data = sent if method != "GET" else None
    found: Response = browser.request(method, path, data=data)  # type: ignore[assignment]
    return found


def test_the_table_has_every_route(shared: Desk) -> None:
    routes = [one for one in create_app(shared).routes if isinstance(one, Route)]
    assert sorted(one.name for one in routes) == sorted(FOR)


@pytest.mark.parametrize("route", FOR)
def test_a_route_is_for_its_role_and_those_above(
    route: str, programs: dict[str | None, TestClient]
) -> None:
    least = FOR[route]
    for role, browser in programs.items():
        code = called(browser, route).status_code
        if least is None:
            assert code in (200, 303, 403, 404), "403: no form's token; 404: no OIDC"
        elif role and Role(role).may(Role(least)):
            assert code not in (401, 403, 405, 500), role
            assert code != 404 or "{id}" in route
        elif role is None:
            redirected = route.startswith("GET")
            assert code == 303 if redirected else code == 401, code
        else:
            assert code == 403, role


@pytest.fixture(scope="module")
def strangers_token(shared: Desk) -> str:
    """Of a form that another browser was given."""
    return form_token(signed_in(shared, "admin").get("/").text)


@pytest.mark.long_but_first
@pytest.mark.parametrize("route", [one for one in FOR if not one.startswith("GET")])
def test_a_form_is_taken_from_its_own_page_only(
    route: str, shared: Desk, strangers_token: str
) -> None:
    browser = signed_in(shared, "admin")
    page = "/"
    if route == "POST /sign-in":
        browser, page = client(shared), "/sign-in"
    token = form_token(browser.get(page).text)
    assert called(browser, route).status_code == 403, "no token"
    for wrong in ("0" * 64, strangers_token):
        assert called(browser, route, form_token=wrong).status_code == 403
    as_program = {"Authorization": "Basic eDp5"}
    assert browser.post(path_of(route), headers=as_program).status_code == 403
    for elsewhere in (
        {"Origin": "https://evil.example"},
        {"Origin": "http://localhost", "Sec-Fetch-Site": "cross-site"},
    ):
        browser.headers |= elsewhere
        assert called(browser, route, form_token=token).status_code == 403
    (deed,) = shared.audit.newest(1)
    assert deed.outcome.startswith("refused: "), "it is in the log"
