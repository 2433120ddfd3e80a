"""`--renew`: a case is compared, and what came out is written once all tests are through."""

import pytest
from test_again import pytest_of

OWN_FOLDER = """
import paths
from pathlib import Path

paths.GOLDEN = Path(__file__).parent
"""
TESTS = """
import pytest
from golden import Golden

WORDS = Golden("words")

@pytest.mark.parametrize("case", ["a", "b", "c"])
def test_words(case, golden):
    golden(WORDS, case, {"out": case * 2 + "\\r\\n\\u2028", "code": 0})
    assert case != "c"

def test_that_renews_nothing():
    assert False
"""
AS_IT_IS = (
    '{"case":"a","input":"x","expected":{"code":0,"out":"aa\\r\\n\u2028"}}\n'
    '{"case":"b","expected":{"code":0,"out":"bb\\r\\n\u2028"}}\n'
)


@pytest.mark.long
def test_a_case_is_compared_and_renewed(tmp_path):
    """By several workers, and not that of a test that fails for something else."""
    (tmp_path / "conftest.py").write_text(OWN_FOLDER)
    words = tmp_path / "words.jsonl"
    wrong = AS_IT_IS.replace("aa", "ab").replace('0,"out":"bb', '"0","out":"bb')
    words.write_bytes(wrong.encode())
    code, text = pytest_of(tmp_path, TESTS, "-p", "golden", "-n", "2")
    assert code == 1 and "4 failed" in text
    assert "words.jsonl, case 'a'" in text
    assert "\n-out: ab\\r\\n\n" in text and "\n+out: aa\\r\\n\n" in text
    code, text = pytest_of(tmp_path, TESTS, "-p", "golden", "-n", "2", "--renew")
    assert code == 1 and "1 failed, 2 passed" in text
    assert words.read_bytes() == AS_IT_IS.encode()
