"""Model files in Chromium, by the one JavaScript file, against what Python answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sigmastar.runtime import JAVASCRIPT
from test_javascript import ASK, expected, make_models, require_close, written

ADDRESS = "http://models.example"
PAGE = f"""
async (names) => {{
  const {{ load, read, END, ModelFileError }} = await import("/sigmastar.mjs");
  {ASK}
  const questions = await (await fetch("/questions.json")).json();
  const answers = {{}};
  for (const name of names) answers[name] = ask(await load(`/${{name}}`), name, questions[name]);
  const bytes = await (await fetch("/fast")).arrayBuffer();
  const file = new File([bytes], "model.sigma"), shifted = new Uint8Array(bytes.byteLength + 3);
  shifted.set(new Uint8Array(bytes), 3);
  answers.file = ask(await load(file), "fast", questions.fast);
  answers.unaligned = ask(read(shifted.subarray(3)), "fast", questions.fast);
  const told = (problem) => [problem instanceof ModelFileError, problem.message];
  const missing = await load("/nothing").catch(told);
  return JSON.stringify({{ answers, missing }}, plain);
}}
"""


@pytest.mark.filterwarnings("ignore:input symbols that are not known")
def test_answers_in_the_browser_are_those_of_python(chromium: Any, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        models = make_models(patch)
    files = written(models, tmp_path)
    questions = {name: asked for name, (_, asked) in models.items()}

    def answer(route: Any) -> None:
        name = route.request.url.removeprefix(f"{ADDRESS}/").replace("%20", " ")
        if name in files:
            route.fulfill(body=files[name].read_bytes(), content_type="application/octet-stream")
        elif name == "sigmastar.mjs":
            route.fulfill(path=JAVASCRIPT, content_type="text/javascript")
        elif name == "questions.json":
            route.fulfill(body=json.dumps(questions), content_type="application/json")
        else:
            route.fulfill(
                status=404 if name else 200, body="<!doctype html><title>.</title>", content_type="text/html"
            )

    page = chromium.new_page()
    page.route("**/*", answer)
    page.goto(ADDRESS)
    found = json.loads(page.evaluate(PAGE, list(files)))
    page.close()
    wanted = {name: expected(file, name, questions[name]) for name, file in files.items()}
    for name in files:
        require_close(found["answers"][name], wanted[name], name)
    for way in ("file", "unaligned"):
        require_close(found["answers"][way], wanted["fast"], way)
    assert found["missing"] == [True, f"{ADDRESS}/nothing: the server answered 404; check the address"]
