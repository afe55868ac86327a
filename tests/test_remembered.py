"""What is remembered of texts is bounded by their characters, not by their number."""

from __future__ import annotations

from stepcore.fn import source
from stepcore.frontend import syntax
from stepcore.ide import cut, outline, running, scan
from stepcore.text.remembered import CHARACTERS, Remembered
from stepserver import memory


def test_the_latest_texts_are_kept_up_to_their_characters() -> None:
    worked: list[str] = []

    def length(text: str) -> int:
        worked.append(text)
        return len(text)

    known = Remembered(length, 100)
    for number in range(20):
        assert known(f"{number:010}") == 10
        assert known("0" * 10) == 10  # what is asked for again and again stays
        assert known.cache_info().characters <= 200
    assert worked.count("0" * 10) == 1
    assert len(worked) == 20
    known("x" * 1000)
    known("y")
    assert known.cache_info().characters <= 1100
    for number in range(20):
        known(f"{number:010}")
    assert known.cache_info().characters <= 200
    known.cache_clear()
    assert known.cache_info() == (0, 0)


def test_empty_texts_at_many_places_are_bounded_too() -> None:
    known = Remembered(lambda start, text: (start, text), 1000)
    for start in range(1000):
        known(start, "")
    assert known.cache_info().currsize <= 100


def test_a_tuple_is_one_argument_and_no_other_than_its_items() -> None:
    known = Remembered(lambda *given: given, 1000)
    assert [known(("a",)), known("a"), known("a", "b"), known(("a", "b"))] == [
        (("a",),),
        ("a",),
        ("a", "b"),
        (("a", "b"),),
    ]


def test_many_versions_of_a_large_text_are_not_all_kept() -> None:
    lines = "".join(f"x{number} = {number}\n" for number in range(10_000))
    for version in range(40):
        text = f"{lines}version = {version}\n"
        assert len(syntax.parse_suite(text).body) == 10_001
    for cache in (syntax.parse_suite, syntax._parse):
        info = cache.cache_info()
        assert 0 < info.characters <= 2 * CHARACTERS + len(lines)
        assert info.currsize < 40
    memory.release()


def test_caches_of_texts_are_bounded_so_and_given_back() -> None:
    caches = (
        syntax.parse_suite,
        syntax._parse,
        source._parse,
        cut.shape,
        outline._regions,
        running.executed,
        scan.table,
    )
    assert all(isinstance(cache, Remembered) for cache in caches)
    syntax.parse_suite("a = 1\n")
    memory.release()
    assert all(cache.cache_info().currsize == 0 for cache in (*caches, scan.table))
