"""Space files and constraints as nobody writes them who means well."""

from collections.abc import Iterator

import numpy as np

NAMES = ("a", "b", "flow rate")
_BASE = """parameters:
  a: 0 to 10
  b: 0.1 to 10 log
  flow rate: 1 to 9 step 2
  gas: [air, argon]
goals:
  yield: maximize
requirements:
  purity: ">= 0.9"
constraints:
  - a + b <= 12
"""
_LONG = "9" * 5000
_LAUGHS = "a: &a [lol, lol]\n" + "".join(
    f"{chr(98 + k)}: &{chr(98 + k)} [{', '.join([f'*{chr(97 + k)}'] * 9)}]\n" for k in range(9)
)


def _parameter(text: str) -> str:
    return f"parameters:\n  a: {text}\ngoals:\n  y: maximize\n"


_WRITTEN = [
    _LAUGHS,
    "parameters: &p\n  a: 0 to 1\n  b: *p\n",
    "parameters:\n  <<: {a: 0 to 1}\n  b: 0 to 1\n",
    "parameters: " + "[" * 3000 + "]" * 3000,
    "parameters:\n  a: " + "{a: " * 2000 + "1" + "}" * 2000,
    "- " * 5000 + "a",
    _parameter(f"0 to {_LONG}"),
    _parameter(f"{_LONG} to 0"),
    _parameter("0 to 1e999"),
    _parameter("0 to 1e-999"),
    _parameter(f"0 to 1.{_LONG}"),
    _parameter(f"0 to 1e{_LONG}"),
    _parameter("nan to inf"),
    _parameter("0 to 1 step 1e-300"),
    _parameter("-1e308 to 1e308"),
    _parameter("0 to 0"),
    _parameter("1 to 0"),
    _parameter("-1 to 1 log"),
    _parameter("0x10 to 0x20"),
    _parameter("1_000 to 2_000"),
    _parameter("12:30 to 12:45"),
    _parameter("2026-01-01"),
    _parameter("2026-01-01 to 2026-12-31"),
    _parameter("[2026-01-01, 2026-01-02]"),
    _parameter("[yes, no, on, off]"),
    _parameter("[null, ~]"),
    _parameter("[1, 1.0, '1', true]"),
    _parameter(f"[{_LONG}, 1]"),
    _parameter("[]"),
    _parameter("[[1, 2], [3]]"),
    _parameter("[{a: 1}]"),
    _parameter("{low: 0, high: 1}"),
    _parameter("!!python/object/apply:os.system ['true']"),
    _parameter("!!python/name:os.system"),
    _parameter("!!binary aGVsbG8="),
    _parameter("!!timestamp 2026-01-01"),
    _parameter("!local 0 to 1"),
    _parameter("!!int 0 to 1"),
    _parameter('"0 to \\uD800"'),
    _parameter('["\\uD800", b]'),
    _parameter('["\\x00", b]'),
    _parameter("0 to 1\n  a: 0 to 2"),
    _parameter("|\n    0 to 1\n    0 to 2"),
    _parameter("٠ to ٩"),
    _parameter("０ to ９"),
    _parameter("0 to 1 # \u202e"),
    "parameters:\n  ? [a, b]\n  : 0 to 1\n",
    "parameters:\n  ? {a: b}\n  : 0 to 1\n",
    "? [parameters]\n: 1\n",
    "parameters:\n  '': 0 to 1\n",
    f"parameters:\n  {'n' * 5000}: 0 to 1\n",
    'parameters:\n  "\\x1b[2J": 0 to 1\n',
    "parameters:\n  =cmd|' /c calc'!A1: 0 to 1\n",
    "parameters:\n  null: 0 to 1\n",
    "parameters:\n  trial: 0 to 1\n  state: 0 to 1\n",
    "parameters:\n",
    "parameters: 5\n",
    "parameters: [a, b]\n",
    "{}",
    "",
    " ",
    "\t",
    "---\n---\n",
    "--- a\n--- b\n",
    "%YAML 9.9\n---\na: 1\n",
    "%TAG ! tag:x,2000:\n---\nparameters: !foo {}\n",
    "a: b: c",
    "'",
    '"',
    "[",
    "{",
    "&",
    "*",
    "*unknown",
    "!",
    "|",
    ">",
    "@",
    "`",
    "%",
    "? ",
    ": ",
    "-",
    "\ufeffparameters: {a: 0 to 1}\n",
    "\x00",
    "\x85\u2028",
    "parameters: {a: 0 to 1}\x07",
    "parameters:\r  a: 0 to 1\r",
    "parameters:\n\ta: 0 to 1\n",
    f"parameters:\n  a: 0 to 1\ngoals:\n  y: target {_LONG}\n",
    "parameters:\n  a: 0 to 1\ngoals:\n  y: target 1e999\n",
    "parameters:\n  a: 0 to 1\ngoals:\n  y: [maximize]\n",
    "parameters:\n  a: 0 to 1\ngoals: maximize\n",
    f"parameters:\n  a: 0 to 1\nrequirements:\n  y: '>= {_LONG}'\n",
    "parameters:\n  a: 0 to 1\nrequirements:\n  y: {a: 1}\n",
    f"parameters:\n  a: 0 to 1\nconstraints:\n  - a <= {_LONG}\n",
    f"parameters:\n  a: 0 to 1\nconstraints: {'(' * 900}a{')' * 900} <= 1\n",
    "parameters:\n  a: 0 to 1\nconstraints:\n  - {a: 1}\n",
    "parameters:\n  a: 0 to 1\nconstraints:\n  - __import__('os')\n",
    "parameters:\n  a: 0 to 1\nunknown:\n  b: 1\n",
    "parameters:\n" + "".join(f"  p{k}: 0 to 1\n" for k in range(3000)),
    _parameter("[" + ", ".join(f"c{k}" for k in range(20_000)) + "]"),
]


def space_files(count: int) -> Iterator[bytes]:
    """The written ones, then a sound file with a few letters changed, moved or lost."""
    for one in _WRITTEN[:count]:
        yield one.encode("utf-8", "surrogatepass")
    rng = np.random.default_rng(0)
    odd = [*"{}[]&*!|>%@`'\"#:-?,\t\n ", "\x00", "\x1b", "é", "\ud800", "9" * 40]
    for number in range(max(0, count - len(_WRITTEN))):
        text = _BASE
        for _ in range(1 + number % 6):
            at = int(rng.integers(len(text)))
            width = int(rng.integers(0, 4))
            text = text[:at] + str(rng.choice(odd)) + text[at + width :]
        data = text.encode("utf-8", "surrogatepass")
        if number % 10 == 0:  # not UTF-8
            at = int(rng.integers(len(data)))
            data = data[:at] + bytes([int(rng.integers(128, 256))]) + data[at:]
        yield data


_TEXTS = [
    "(" * 100 + "a" + ")" * 100 + " <= 1",
    "(" * 3000 + "a" + ")" * 3000 + " <= 1",
    "-" * 3000 + "a <= 1",
    "+".join(["a"] * 4000) + " <= 1",
    "a" + "*2" * 2000 + " <= 1",
    "1/" * 2000 + "2*a <= 1",
    "a <= " + _LONG,
    "a <= 1e999",
    "a <= -1e999",
    "1e308*a + 1e308*b <= 1",
    "1e308*a*10 <= 1",
    "1e-320*a <= 1",
    "a/1e-320 <= 1",
    "a/0 <= 1",
    "a/(1-1) <= 1",
    "a <= 1e400 - 1e400",
    "0*a <= 1",
    "a - a <= 1",
    "a <= nan",
    "a <= inf",
    "a <= 1j",
    "a <= True",
    "a <= None",
    "a <= ...",
    "a <= 'x'",
    "a <= b'x'",
    "a <= [1]",
    "a <= {1}",
    "a <= (1,)",
    "a <= lambda: 1",
    "a <= f'{b}'",
    "a <= (b := 3)",
    "a if b else 1 <= 2",
    "a.b <= 1",
    "a[0] <= 1",
    "a() <= 1",
    "__import__('os').system('true') <= 1",
    "a ** 2 <= 1",
    "a ** 99999999 <= 1",
    "9**9**9*a <= 1",
    "a // 2 <= 1",
    "a % 2 <= 1",
    "a @ b <= 1",
    "a << 99999 <= 1",
    "a & b <= 1",
    "~a <= 1",
    "not a <= 1",
    "a and b <= 1",
    "a < 1",
    "a != 1",
    "a is 1",
    "a in b",
    "a = 1",
    "a <= 1; b <= 2",
    "a <= 1\nb <= 2",
    "a <= 1 # b",
    "a <= 1\\",
    "a <=",
    "<= a",
    "",
    " ",
    "\n",
    "\x00",
    "a \x00 <= 1",
    "a <= 1\x00",
    "\ud800 <= 1",
    "a\u202e <= 1",
    "\ufeffa <= 1",
    "ａ <= 1",
    "𝒂 <= 1",
    "a ≤ 1",
    "a <= ١",
    "a <= １",
    "a <= 1_000",
    "a <= 0x10",
    "a <= 0777",
    "a <= 1e",
    "a <= 1if b else 2",
    "a <= 1and b",
    "a <= 1..real",
    "`flow rate` <= 3",
    "`flow rate <= 3",
    "`` <= 3",
    "`a` `b` <= 3",
    "`\ud800` <= 3",
    "`unknown` <= 3",
    "quoted_0__ <= 3",
    "`a` + quoted_0__ <= 3",
    "unknown <= 3",
    "1 <= 2",
    "1 <= a <= 0",
    "0 <= a <= b <= 1",
    "0 >= a <= 1",
    "a <= b <= a",
    " <= ".join(["a"] * 3000),
    "a" * 20_000,
    "print('x')",
    "*a <= 1",
    "a <= 1,",
    "2a <= 1",
]


def constraint_texts(count: int) -> list[str]:
    """The first of them."""
    return _TEXTS[:count]
