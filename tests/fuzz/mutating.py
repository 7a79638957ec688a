"""Seeds that are right, and changes of them."""

from __future__ import annotations

import random

MOST = 20_000  # bytes of an input

SEEDS = {
    "lines": b"a b a\n\nb\na a b c\n",
    "pautomac": b"4 3\n3 0 1 2\n0\n2 1 1\n1 2\n",
    "machine": b"I: (state)\n\t(0) 1.0\nF: (state)\n\t(0) 0.5\nS: (state,symbol)\n\t(0,0) 1.0\n"
    b"T: (state,symbol,state)\n\t(0,0,0) 1.0\n",
    "conllu": b"# text = the dog\n1\tthe\t_\tDET\tDT\t_\t2\tdet\t_\t_\n"
    b"2\tdog\t_\tNOUN\tNN\t_\t0\troot\t_\t_\n\n",
    "dp": b"the\tDT\t2\ndog\tNN\t0\n\n",
    "columns": b"the DT B\ndog NN I\n\na DT B\n",
    "brackets": b"(S (NP (D the) (N dog)) (VP (V barks)))\n(S (X a))\n",
    "rules": b"S -> NP VP 0.5\nS -> 'a' S 0.5\nNP -> \"dog\" 1\nVP -> 'barks' 1\n",
    "dimacs": b"c formula\np cnf 3 2\n1 -3 0\n2 3 -1 0\n",
    "table": b"abab\t1.5\nba\t-2\n\t0\n",
    "pairs": b"abc\tA B C\nba\tB A\n",
    "words": b"dog\tbig\ncat\tsmall\n",
    "quadruples": b"saw man with dog V\nate fish with fork V\nsaw girl of town N\n",
    "word2vec": b"2 3\ndog 0.5 1 -2\ncat 1e-3 2 3\n",
    "att": b"0 1 a 0.5\n0 0 b 1\n1 0 a 0.25\n1 0.125\n0\n",
    "solution": b"3\n0.5\n1e-3\n0.25\n",
    "targets": b"1.5 0 1.0 2 0.5\n2 1 1 -1 0.5\n",
    "tagged": b"the_D dog_N barks_V\n\na_b_N\n",
    "arpa": b"\\data\\\nngram 1=3\nngram 2=2\n\n\\1-grams:\n-0.5\t</s>\n-99\t<s>\t-0.3\n-0.5\ta\t-0.2\n\n"
    b"\\2-grams:\n-0.1\t<s> a\n-0.2\ta a\n\n\\end\\\n",
    "arcs": b"0 1 a B 0.5\n0 0 b <eps> 1\n1 0 <eps> A 0.25\n1 0.125\n0\n",
    "series": b"1.5 -2\n0.25,1e-3\n\n3;4\n5 6\n",
    "jsonl": b'{"id": 7, "text": "a b"}\n{"text": ["a", "b"], "x": null}\n{"text": 3}\n',
    "csv": b'id,text,note\n1,a b,x\n2,"b, ""a""",y\n3,"a\nb",\n',
    "pattern": b'(a|b)*a{2,5}[^ a b]?."U.S."\\.+',
    "request": b'{"inputs": {"text": "a b a"}}',
    "batch": b'{"inputs": [{"text": "a b"}, {"text": ""}]}',
}
PIECES = (
    *(
        b"\0",
        b"\xff",
        b"\xef\xbb\xbf",
        b"\r\n",
        b"\r",
        b"\n\n",
        b"\t\t",
        b"\x1f\x8b",
        b"\x28\xb5\x2f\xfd",
        b"(",
    ),
    *(
        b")",
        b"((((",
        b"))))",
        b"-1",
        b"0",
        b"99999999999999999999",
        b"9999999",
        b"30000",
        b"1e400",
        b"nan",
        b"inf",
        b"-0",
        b" ",
        b"",
    ),
    *(
        "\u0661\u2028\u00a0\U0001f600".encode(),
        b"\xed\xa0\x80",
        b"_",
        b"1-2",
        b"2.1",
        b"#",
        b"->",
        b"|",
        b"'",
        b'"',
        b"\\ud800",
        b"{3}",
    ),
)


def mutated(seed: bytes, rng: random.Random) -> bytes:
    """A seed after one to six changes."""
    content, draw = bytearray(seed), rng.random  # several times as fast as `randrange`
    for _ in range(1 + int(6 * draw())):
        one, other, kind = int((len(content) + 1) * draw()), int((len(content) + 1) * draw()), int(7 * draw())
        at, to = min(one, other), max(one, other)
        if kind == 0 and content:
            content[at - 1] ^= 1 << int(8 * draw())
        elif kind == 1:
            content[at:at] = PIECES[int(len(PIECES) * draw())]
        elif kind == 2:
            content[at:to] = b""
        elif kind == 3:
            content[at:at] = content[at:to] * (1, 2, 50)[int(3 * draw())]
        elif kind == 4:
            content[at:to] = PIECES[int(len(PIECES) * draw())]
        elif kind == 5:
            del content[at:]
        else:
            content[at:at] = rng.randbytes(1 + int(4 * draw()))
        del content[MOST:]  # what is repeated six times fifty-fold would take all memory
    return bytes(content)
