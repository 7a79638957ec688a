"""Downloads from a server on this machine: whole, cut, damaged, gone."""

from __future__ import annotations

import gzip
import io
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sigmastar import InputError
from sigmastar.cli.group import command
from sigmastar.datasets import catalogue as catalogue_module
from sigmastar.datasets import (
    data_sets,
    fetch,
    find,
    load_conll2000,
    load_pautomac,
    load_spice,
    load_taysir_words,
)
from sigmastar.datasets.catalogue import DataFile, DataSet, fingerprint
from sigmastar.datasets.converting import converted

LINES = "".join(f"{number} {number % 7}\n" for number in range(20_000)).encode()


@dataclass
class Server:
    """What lies where, after how many bytes answers are cut, and what was asked."""

    files: dict[str, bytes] = field(default_factory=dict)
    cut: list[int] = field(default_factory=list)
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    has_ranges: bool = True
    address: str = ""


@pytest.fixture
def server() -> Iterator[Server]:
    held = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers["Range"]
            held.asked.append((self.path, wanted))
            content = held.files.get(self.path.lstrip("/"))
            if content is None:
                self.send_error(404)
                return
            begin = int(wanted[len("bytes=") : -1]) if wanted and held.has_ranges else 0
            if begin and begin >= len(content):
                self.send_error(416)
                return
            self.send_response(206 if begin else 200)
            self.send_header("Content-Length", str(len(content) - begin))
            self.end_headers()
            sent = content[begin:]
            self.wfile.write(sent[: held.cut.pop(0)] if held.cut else sent)

        def log_message(self, *_: object) -> None:
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    held.address = f"http://127.0.0.1:{httpd.server_port}/"
    thread = threading.Thread(target=httpd.serve_forever, args=(0.01,))
    thread.start()
    yield held
    httpd.shutdown()
    thread.join()
    httpd.server_close()


SAMPLES = {f"ca{k:02}": f"\n\n\tw/{k}\n\n\n\tv/x\n".encode() for k in range(10)} | {"README": b"word/tag"}
PRONOUNCED = b"A 1 AH0\nA 2 EY1\nA.B. 1 EY1\n"


def archive(place: str, members: dict[str, bytes]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in members.items():
            opened.writestr(place.format(name), content)
    return held.getvalue()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: Server) -> Path:
    """An empty cache, and a catalogue of two sets that the server has and one that it has not."""
    server.files["a/lines.txt"] = LINES.replace(b"\n", b"\r\n")
    server.files["a/two.zip"] = archive("z/{}", {"p1": b"a\nb\n", "p2": b"c\n", "q": b"q\n"})
    files = (
        DataFile("plain/lines.txt.gz", fingerprint(LINES, "lines.txt.gz"), "a/lines.txt"),
        DataFile("plain/other.txt", fingerprint(LINES, "lines.txt"), "a/lines.txt"),
    )
    server.files["a/brown.zip"] = archive("brown/{}", SAMPLES)
    server.files["a/cmudict.zip"] = archive("cmudict/{}", {"cmudict": PRONOUNCED})
    made = (
        DataFile("made/dev.tsv.gz", fingerprint(b"w\t8\n\nv\tx\n", "x"), "a/brown.zip#=brown dev"),
        DataFile("made/test.tsv", fingerprint(b"w\t9\n\nv\tx\n", "x"), "a/brown.zip#=brown test"),
        DataFile("made/words.tsv", fingerprint(b"a\tAH0\na\tEY1\n", "x"), "a/cmudict.zip#=cmudict train"),
    )
    zipped = (
        DataFile("zipped/p", fingerprint(b"a\nb\n\nc\n", "p"), "a/two.zip#z/p%d 1 2"),
        DataFile("zipped/q", fingerprint(b"q\n", "q"), "a/two.zip#z/q"),
    )
    page = ("", "free for all", "https://example.org/page", "", "")
    known = {
        "plain": DataSet("plain", *page, files),
        "zipped": DataSet("zipped", *page, zipped),
        "made": DataSet("made", *page, made),
        "own": DataSet("own", *page, (DataFile("own/x.txt", fingerprint(b"x", "x.txt")),)),
    }
    for module in ("fetching", "cli"):
        monkeypatch.setattr(f"sigmastar.datasets.{module}.data_sets", lambda: known)
    monkeypatch.setenv("SIGMASTAR_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SIGMASTAR_DATA", raising=False)
    return tmp_path / "cache"


def run(*words: str) -> Result:
    return CliRunner().invoke(command, ["data", *words])


def test_a_set_is_downloaded_checked_and_kept(cache: Path, server: Server) -> None:
    done = run("get", "plain", "--yes", "--mirror", server.address)
    assert done.exit_code == 0, done.output
    assert "licence: free for all" in done.stderr
    assert done.stdout == f"{cache / 'plain'}\n"
    assert gzip.decompress((cache / "plain" / "lines.txt.gz").read_bytes()).split() == LINES.split()
    assert list((cache / "downloads").iterdir()) == []
    seen = len(server.asked)
    assert [str(path.parent) for path in fetch("plain")] == [str(cache / "plain")] * 2
    assert len(server.asked) == seen == 1  # both files are from one download


def test_members_of_an_archive_are_put_together(cache: Path, server: Server) -> None:
    first, second = fetch("zipped", mirror=server.address)
    assert (first.read_bytes(), second.read_bytes()) == (b"a\nb\n\nc\n", b"q\n")
    assert len(server.asked) == 1


def test_files_are_made_from_what_publishers_have(cache: Path, server: Server) -> None:
    dev, test, words = fetch("made", mirror=server.address)
    assert gzip.decompress(dev.read_bytes()) == b"w\t8\n\nv\tx\n\n"
    assert (test.read_bytes(), words.read_bytes()) == (b"w\t9\n\nv\tx\n\n", b"a\tAH0\na\tEY1\n")
    assert [path for path, _ in server.asked] == ["/a/brown.zip", "/a/cmudict.zip"]


@pytest.mark.parametrize(
    "damaged", [{}, {"cmudict": b"A\n"}, {"cmudict": b"A 1 EY1\n"}, {"cmudict": b"\xff 1 AH0\n"}]
)
def test_archives_to_be_converted_that_are_damaged_are_refused(
    cache: Path, server: Server, damaged: dict[str, bytes]
) -> None:
    server.files["a/cmudict.zip"] = archive("cmudict/{}", damaged)
    done = run("get", "made", "--yes", "--mirror", server.address)
    assert done.exit_code == 1
    assert "is damaged, or not the version that is known" in done.stderr
    assert find("made/words.tsv") is None


def _text(place: Path) -> str:
    return gzip.decompress(place.read_bytes()).decode()


def test_a_dictionary_falls_into_the_parts_that_are_known(data_folder: Path) -> None:
    """Its lines, put together again, and some that are left out."""
    files = {file.source.split("=")[1]: file for file in data_sets()["cmudict"].files}
    places = [data_folder / file.path for file in files.values()]
    if not all(place.is_file() for place in places):
        pytest.skip("no cmudict in SIGMASTAR_DATA")
    pairs = [line.split("\t") for place in places for line in _text(place).splitlines(keepends=True)]
    lines = ["A.B. 1 EY1 B IY1\n", *(f"{word.upper()} 1 {phones}" for word, phones in pairs)]
    held = zipfile.ZipFile(io.BytesIO(archive("cmudict/{}", {"cmudict": "".join(lines).encode()})))
    for how, file in files.items():
        assert fingerprint(converted(held, how), file.path) == file.fingerprint, how


def test_a_download_that_is_cut_goes_on_where_it_was(cache: Path, server: Server) -> None:
    server.cut = [40_960, 81_920]
    fetch("plain", mirror=server.address)
    assert [wanted for _, wanted in server.asked] == [None, "bytes=40960-", "bytes=122880-"]


def test_a_cut_download_is_kept_for_the_next_call(cache: Path, server: Server) -> None:
    server.cut = [4096] * 4
    with pytest.raises(InputError, match=r"127\.0\.0\.1 cannot be reached; run it again"):
        fetch("plain", mirror=server.address)
    assert find("plain/lines.txt.gz") is None
    fetch("plain", mirror=server.address)
    assert server.asked[-1][1] == "bytes=16384-"


def test_a_server_that_cannot_resume_begins_again(cache: Path, server: Server) -> None:
    server.cut, server.has_ranges = [50_000], False
    fetch("plain", mirror=server.address)
    assert find("plain/lines.txt.gz") is not None


def test_a_resumed_mixture_of_two_versions_is_downloaded_anew(cache: Path, server: Server) -> None:
    good, server.files["a/lines.txt"] = server.files["a/lines.txt"], b"older " * 9000
    server.cut = [4096] * 4
    with pytest.raises(InputError):
        fetch("plain", mirror=server.address)
    server.files["a/lines.txt"] = good
    fetch("plain", mirror=server.address)
    assert server.asked[-1][1] is None


@pytest.mark.parametrize("damaged", [b"", LINES[:-9], LINES.replace(b"7 ", b"8 ")])
def test_a_damaged_file_is_refused_and_leaves_nothing(cache: Path, server: Server, damaged: bytes) -> None:
    server.files["a/lines.txt"] = damaged
    done = run("get", "plain", "--yes", "--mirror", server.address)
    assert done.exit_code == 1
    assert "is damaged, or not the version that is known" in done.stderr
    assert not [path for path in cache.rglob("*") if path.is_file()]


def test_a_damaged_archive_is_refused(cache: Path, server: Server) -> None:
    server.files["a/two.zip"] = server.files["a/two.zip"][:-30]
    with pytest.raises(InputError, match="is damaged"):
        fetch("zipped", mirror=server.address)


def test_what_is_gone_is_said(cache: Path, server: Server) -> None:
    server.files.clear()
    with pytest.raises(InputError, match=r"127\.0\.0\.1 answers 404; .* https://example.org/page and put"):
        fetch("plain", mirror=server.address)


def test_without_a_network_the_message_says_what_to_put_where(cache: Path) -> None:
    done = run("get", "plain", "--yes", "--mirror", "http://127.0.0.1:9/")
    assert done.exit_code == 1
    assert "cannot be reached" in done.stderr
    assert f"put its files into {cache}, or into a folder that SIGMASTAR_DATA names" in done.stderr


def test_nobody_downloads_without_agreement(cache: Path, server: Server) -> None:
    done = run("get", "plain", "--mirror", server.address)
    assert done.exit_code == 2
    assert "--yes is needed" in done.stderr
    assert "free for all" in done.stderr
    assert not server.asked


def test_a_folder_of_ones_own_comes_first(
    cache: Path, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "mine"
    (folder / "own").mkdir(parents=True)
    monkeypatch.setenv("SIGMASTAR_DATA", str(folder))
    done = run("get", "own")
    assert f"put own/x.txt into {folder}" in done.stderr
    (folder / "own" / "x.txt.gz").write_bytes(gzip.compress(b"x\n"))
    assert run("get", "own").stdout == f"{folder / 'own'}\n"
    assert "own     at hand" in run("list").stdout
    (folder / "own" / "x.txt.gz").write_bytes(b"broken")
    assert "does not say what it must" in run("get", "own").stderr
    assert not server.asked


def test_what_a_treebank_says_is_in_six_of_its_columns() -> None:
    last = b"2\tb\t_\tX\tY\t_\t0\troot\t_\t_\n"
    whole = b"# newdoc\n# sent_id = 1\n1\tA\tlemma\tDET\tDT\tF=1\t2\tdet\t2:det\tM=1\n" + last + b"\n"
    slim = b"# sent_id = 1\n1\tA\t_\tDET\tDT\t_\t2\tdet\t_\t_\n" + last
    assert fingerprint(whole, "x.conllu.gz") == fingerprint(slim, "x.conllu")
    assert fingerprint(whole.replace(b"\t2\tdet", b"\t0\tdet"), "x.conllu") != fingerprint(slim, "x.conllu")
    assert fingerprint(b"a\n\nb\n", "x.txt") != fingerprint(
        b"a\nb\n", "x.txt"
    )  # sentences would run together


def test_the_catalogue_is_whole() -> None:
    known = data_sets()
    assert all(entry.files and entry.licence and entry.page for entry in known.values())
    paths = [file.path for entry in known.values() for file in entry.files]
    assert len(set(paths)) == len(paths)
    assert all(len(file.fingerprint) == 64 for entry in known.values() for file in entry.files)
    assert catalogue_module.HOST.startswith("https://")
    assert [entry.name for entry in known.values() if not entry.is_downloadable] == ["taysir"]


def test_loaders_say_how_data_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGMASTAR_CACHE", str(tmp_path))
    monkeypatch.delenv("SIGMASTAR_DATA", raising=False)
    with pytest.raises(InputError, match=r"download=True, or by sigmastar data get conll2000.*licence"):
        load_conll2000()
    with pytest.raises(
        InputError,
        match=r"taysir is not at hand and is not downloaded: get it from .*valid.words.* then checks them",
    ):
        load_taysir_words("2.1", download=True)
    with pytest.raises(InputError, match="pautomac has no problem 3"):
        load_pautomac(3)


def test_loaders_read_what_is_at_hand(data_folder: Path) -> None:
    if not (data_folder / "pautomac").is_dir() or not (data_folder / "spice").is_dir():
        pytest.skip("no pautomac and spice in SIGMASTAR_DATA")
    problem = load_pautomac(10)
    assert (len(problem.train), len(problem.test), problem.target.n_states) == (20_000, 1000, 49)
    assert problem.solution.sum() == pytest.approx(1)
    assert len(load_spice(4).prefixes) == 748
