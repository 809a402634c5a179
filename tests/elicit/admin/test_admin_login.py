"""The researcher's key, the session it opens, and the token of its forms."""

import argon2
import pytest

from sfumato.elicit.admin.login import (
    admin_key_matches,
    admin_session_is_valid,
    form_token,
    new_admin_session,
)

KEY = b"a key only for tests, 32 bytes.."


@pytest.mark.parametrize("hashed", [False, True])
def test_s10_only_the_key_itself_opens(hashed: bool) -> None:
    key = "correct horse battery staple"
    hasher = argon2.PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    expected = hasher.hash(key) if hashed else key

    assert admin_key_matches(expected, key)
    for wrong in ("", key[:-1], key + " ", "\ud800", expected if hashed else "x"):
        assert not admin_key_matches(expected, wrong)


def test_s10_malformed_hash_opens_nothing() -> None:
    assert not admin_key_matches("$argon2id$nonsense", "$argon2id$nonsense")


def test_s10_changed_foreign_and_old_sessions_are_refused() -> None:
    session = new_admin_session(KEY, now=1_000)
    later = session.replace("44200.", "99999.", 1)

    assert session.startswith("44200.")
    assert admin_session_is_valid(KEY, session, now=44_199)
    assert not admin_session_is_valid(KEY, session, now=44_200)
    for forged in ("", ".", "x.y.z", session[:-2], later, "99999..", "\ud800"):
        assert not admin_session_is_valid(KEY, forged, now=1_000)
    assert not admin_session_is_valid(b"another key for tests, 32 bytes.", session, now=1_000)


def test_s9_form_token_belongs_to_one_session() -> None:
    one, other = new_admin_session(KEY, now=0), new_admin_session(KEY, now=0)

    assert form_token(KEY, one) == form_token(KEY, one)
    assert len({form_token(KEY, one), form_token(KEY, other), one, other}) == 4
    assert form_token(KEY, one) not in one
