"""Text out of bytes: UTF-8, UTF-16 with or without a mark, else cp1252, the encoding of old Windows programs."""

import codecs

from tunedprior.errors import InputError

_MARKS = {
    codecs.BOM_UTF8: ("utf-8-sig", None),
    codecs.BOM_UTF32_LE: ("utf-32", "UTF-32"),  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: ("utf-32", "UTF-32"),
    codecs.BOM_UTF16_LE: ("utf-16", "UTF-16"),
    codecs.BOM_UTF16_BE: ("utf-16", "UTF-16"),
}
_ENOUGH = 4096  # bytes that decide
#: A file of UTF-16 has a zero in at least this share of its high bytes; text in others has none.
_ZEROS = 0.3


def decode_text(data: bytes, what: str, origin: str) -> tuple[str, list[str]]:
    """The text, and a sentence on its encoding unless it is UTF-8."""
    encoding, name = next((to for mark, to in _MARKS.items() if data.startswith(mark)), (None, None))
    guessed = encoding is None and b"\0" in data[:_ENOUGH]
    if guessed:
        encoding, name = _guess_encoding(data[:_ENOUGH]), "UTF-16"
    to_try = [(encoding, name)] if encoding else [("utf-8", None), ("cp1252", "cp1252")]
    for codec, known_as in to_try:
        try:
            text = data.decode(codec)
        except UnicodeDecodeError:
            continue
        if "\0" in text or (guessed and not {"\n", "\r"} & set(text)):  # no table has a single line
            break
        return text, [f"The encoding is {known_as}."] if known_as else []
    raise InputError(
        f"{what} must be a table; {origin!r} is not a text file (nor Excel or Parquet), or it is damaged. "
        "Save it as CSV in UTF-8."
    )


def _guess_encoding(beginning: bytes) -> str:
    """UTF-16 without a mark, by where its zeros are; UTF-8 if it is not that (and then refused for its zeros)."""
    half = max(1, len(beginning) // 2)
    low, high = beginning[0::2].count(0) / half, beginning[1::2].count(0) / half
    if high >= _ZEROS > low:
        return "utf-16-le"
    return "utf-16-be" if low >= _ZEROS > high else "utf-8"
