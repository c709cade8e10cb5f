"""What happens to texts before any model sees them."""

from hypothesis import given
from hypothesis import strategies as st

from models.texts import embeddable_texts


def test_lone_surrogates_become_replacement_characters() -> None:
    assert embeddable_texts(["a\ud800b"], max_characters=10) == ["a\ufffdb"]


def test_a_text_is_cut_at_the_limit() -> None:
    assert embeddable_texts(["abcdef"], max_characters=3) == ["abc"]


@given(st.lists(st.text(alphabet=st.characters())), st.integers(min_value=1, max_value=20))
def test_every_text_comes_out_in_its_place_encodable_and_within_the_limit(texts: list[str], limit: int) -> None:
    cleaned = embeddable_texts(texts, max_characters=limit)
    assert [len(text) for text in cleaned] == [min(len(text), limit) for text in texts]
    for before, after in zip(texts, cleaned, strict=True):
        after.encode()
        assert after == before[:limit] or "\ufffd" in after
