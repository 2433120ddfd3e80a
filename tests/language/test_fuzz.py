"""No text makes the language fail but with a PlanError, soon and in little memory."""

import gc
import re
import time
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plans import every_plan

from fuzz.survive import checked, formatted, survives

MOST_S = 2.0
MOST_BYTES = 100 << 20
PLANS = every_plan()
TOKEN = re.compile(r'"[^"\n]*"|#[^\n]*|\w[\w.]*%?|\s+|\.\.|[<>=!]=|\S')
TOKENS = sorted({token for plan in PLANS for token in TOKEN.findall(plan)})
RUN = "run random 4KiB 100/0 for 1min"
some = settings(
    deadline=None,
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.mark.slow
@some
@given(st.data())
@pytest.mark.long
def test_tokens_changed(data):
    """A real plan with some tokens replaced, dropped, doubled or swapped."""
    tokens = TOKEN.findall(data.draw(st.sampled_from(PLANS)))[:600]
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, max(0, len(tokens) - 1)))
        new = data.draw(st.lists(st.sampled_from(TOKENS), max_size=3))
        tokens[at : at + data.draw(st.integers(0, 3))] = new
    survives("".join(tokens))


@pytest.mark.slow
@some
@given(st.data())
@pytest.mark.long
def test_characters_changed(data):
    """A real plan with some characters replaced or cut out."""
    text = data.draw(st.sampled_from(PLANS))[:4000]
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(text)))
        new = data.draw(st.text(max_size=3) | st.sampled_from(list('{}"#=,.\n\r\t/%')))
        text = text[:at] + new + text[at + data.draw(st.integers(0, 20)) :]
    survives(text)


@some
@given(st.lists(st.sampled_from(TOKENS), max_size=80), st.sampled_from(["", " "]))
def test_token_soup(tokens, between):
    survives(between.join(tokens))
    survives(f'test "T" {{ {RUN} {between.join(tokens)} }}')


@some
@given(st.binary(max_size=400))
def test_bytes(data):
    survives(data.decode("utf-8", "replace"))
    survives(data.decode("latin-1"))


@pytest.mark.slow
@some
@given(st.text(max_size=30), st.text(max_size=30))
def test_settings(name, value):
    plan = f'param x = 5s\ntest "T" {{ {RUN} idle x }}'
    survives(plan, {name: value})
    survives(plan, {"x": value})


HUGE = {
    "range": f"{RUN} vary qd in 1..999999999999 step 1",
    "doubling": f"{RUN} vary qd in 1..999999999999 doubling",
    "fractions": f"{RUN} vary read in 0%..100% step 0.000000001%",
    "repeat": f"repeat 999999999 {{ {RUN} }}",
    "repeats": "repeat 1000 { " * 40 + RUN + "}" * 40,
    "named_repeat": f"repeat n {{ {RUN} }} vary n in 1, 99999999999999",
    "axes": "".join(f"vary {name} in 1..4000 step 1 " for name in ("qd", "threads", "sync")) + RUN,
    "square": f"{RUN} vary qd in 1..1000 step 1 vary threads in 1..1000 step 1",
    "pairs": "run random 4KiB, threads 1, qd 1 total for 1min "
    "vary qd in 1..300 step 1 vary threads in 1..300 step 1 "
    "vary read in 100% expect p99.999 < 1ms when not (qd == 1 and threads == 99) "
    "rounds until steady iops when qd == 300, at most 25",
    "number": f"run random 4KiB 100/0, qd {'9' * 20000} for 1min",
    "time": "run random 4KiB 100/0 for 999999999999999999h",
    "listed": f"{RUN} vary qd in {', '.join(map(str, range(1, 9000)))}, q",
    "wrong_values": f"{RUN} vary qd in {', '.join(['0'] * 9000)}",
    "blocks": "repeat 2 { " * 3000 + RUN + "}" * 3000,
    "brackets": f"{RUN} skip when " + "(" * 3000 + "qd == 1" + ")" * 3000,
    "not": f"{RUN} skip when " + "not " * 3000 + "qd == 1",
    "open_brackets": f"{RUN} skip when " + "(" * 3000,
    "long_line": "run random 4KiB 100/0" + " " * 50000 + "for 1min",
    "long_name": f"run {'a' * 50000} for 1min",
}  # fmt: skip
TEXTS = {
    **{name: f'test "T" {{ {body} }}' for name, body in HUGE.items()},
    "states": "precondition p0 { purge }\n"
    + "".join(f"precondition p{i + 1} {{ p{i} p{i} }}\n" for i in range(60))
    + f'test "T" {{ after p60 {RUN} }}',
    "chain": "param d = 3\nworkload w0 = random 4KiB 100/0, qd d\n"
    + "".join(f"workload w{i + 1} = w{i}\n" for i in range(1000))
    + 'test "T" { run w1000 for 1min vary d in 1, 2 }',
    "doubled": "param p0 = 1\n"
    + "".join(f"param p{n} = p{n - 1} * 1 + p{n - 1} * 0\n" for n in range(1, 400))
    + 'test "T" { run random 4KiB 100/0, qd p9 for 1s }',
    "sum": f"param p = {' + '.join(['1'] * 2400)}\n"
    'test "T" { run random 4KiB 100/0, qd p for 1s }',
    "unknown": "".join(f"param param_{i} = param_x{i}\n" for i in range(1500)),
    "mistakes": "".join(f"workload w{i} = random 4KiB,, qd\n" for i in range(1500)),
    "braces": "}{" * 20000,
    "quotes": '"' * 20000,
    "unclosed": 'test "a" { run ' * 2000,
    "nul": "\0" * 20000,
    "blank": " \n" * 30000,
    "bom": '\ufeffplan "x"',
    "separators": 'plan "x"\u2028\x85\x0b\x0c test "T" {}',
}


@pytest.fixture
def own_heap():
    """What other tests left in memory is not looked through by each collection."""
    gc.collect()
    gc.freeze()


@pytest.mark.long_but_first
@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTS)
def test_huge(name, own_heap):
    began = time.process_time()
    checked(TEXTS[name])
    between = time.process_time()
    formatted(TEXTS[name])
    assert between - began < MOST_S
    assert time.process_time() - between < MOST_S


@pytest.mark.long_but_first
@pytest.mark.slow
@pytest.mark.parametrize("name", ["range", "axes", "listed", "states", "mistakes"])
def test_memory(name):
    tracemalloc.start()
    try:
        checked(TEXTS[name])
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
    finally:
        tracemalloc.stop()


FOUND = {
    "a comment ends the text, and a block is open": 'test "T" {\n  run w # c',
    "an error at the very end": "workload w = random 4KiB",
    "the brace that is due is put behind the text": 'test "T" {',
    "an item's keyword inside a block": 'test "T" {\nworkload\n}\n',
    "nothing but an item's keyword": "test",
    "blocks are open, and the text ends in a comment": 'test "T" { repeat 2 {' * 9
    + "#",
    "a keyword begins a longer word": 'test "T" { run w chart mean x over bytes }',
    "a keyword stands close to a unit": 'test "T" { run random 4MB/sfor 1s }',
    "a comment stands close to a keyword": 'test "T" { run w chart mean x by# y\n z }',
    "a comment quotes a test": 'test "T" { run w, rate 5% of # "U"\n "V" for 1s }',
    "a host has a quote in it": 'test "T" { run w, on hosts "a\\"b" for 1s }',
}


@pytest.mark.parametrize("text", FOUND.values(), ids=FOUND)
def test_found(text):
    """What fuzzing has found."""
    survives(text)


def test_found_empty_setting():
    survives('param run_time = 5s\ntest "T" { idle run_time }', {"run_time": ""})
