"""The part of a document between two comments, which a test generates."""


def check_part(document, name, wanted, renew):
    """Between `<!-- NAME: begin -->` and `<!-- NAME: end -->` is what is wanted."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    text = document.read_text()
    assert text.count(begin) == text.count(end) == 1, f"{document} has no part {name}"
    before, _, rest = text.partition(begin)
    found, _, after = rest.partition(end)
    if renew:
        document.write_text(f"{before}{begin}{wanted}{end}{after}")
    else:
        assert found == wanted, "pytest --renew writes it"
