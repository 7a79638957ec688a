"""The description of the server's answers that other programs can read (OpenAPI 3.1)."""

from __future__ import annotations

from typing import Any

from sigmastar import __version__
from sigmastar.explorer.guard import Limits

Schema = dict[str, Any]
TEXTS: Schema = {"type": "object", "additionalProperties": {"type": "string"}, "examples": [{"text": "a b"}]}
VIEW: Schema = {
    "type": "object",
    "required": ["kind", "title", "note", "data"],
    "properties": {
        "kind": {
            "enum": [
                "bars",
                "heat",
                "table",
                "strip",
                "map",
                "lattice",
                "lines",
                "graph",
                "tree",
                "arcs",
                "chart",
            ]
        },
        "title": {"type": "string"},
        "note": {"type": "string"},
        "data": {"type": "object"},
    },
}
ENTRY: Schema = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "name": {"type": "string"},
        "family": {"type": "string"},
        "has_data": {"type": "boolean"},
    },
}
TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
LEARNING: Schema = {
    "type": "object",
    "properties": {
        "name": TEXT,
        "state": {"enum": ["learning", "done"]},
        "phase": TEXT,
        "done": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
        "seconds": {"type": "number"},
        "seconds_left": {"type": ["number", "null"]},
        "file": TEXT,
        "views": {"type": "array", "items": VIEW},
    },
}


def document(limits: Limits) -> Schema:
    """All paths, what they take and what they give."""
    views = _object(views={"type": "array", "items": VIEW})
    answered = _object(views={"type": "array", "items": VIEW}, problem={"type": ["string", "null"]})
    number, row = (
        _in_path("number", "Number of the model, from 0."),
        _in_path("row", "Number of the item, from 0."),
    )
    many = {"type": "array", "maxItems": limits.batch, "items": TEXTS}
    model = "/api/models/{number}"
    paths = {
        "/api/models": _get("All models.", _object(version=TEXT, models=_list(ENTRY), is_watched=FLAG)),
        model: _get("A model itself: facts, fields to fill, views.", {"type": "object"}, number),
        f"{model}/answer": _post("Views of one input.", _object(inputs=TEXTS), answered, number),
        f"{model}/batch": _post(
            "One value per input; {error} where there is none.",
            _object(inputs=many),
            _object(outputs=_list({})),
            number,
        ),
        f"{model}/data": _get(
            "Items of the data file, the worst first.",
            {"type": "object"},
            number,
            _in_query("sort", {"enum": ["loss", "error", "length", "number"]}),
            _in_query("filter", {"type": "string"}),
            _in_query("first", {"type": "integer", "minimum": 0}),
            _in_query("count", {"type": "integer", "minimum": 1, "maximum": 200}),
        ),
        f"{model}/data/{{row}}": _get("One item, and what is right for it.", {"type": "object"}, number, row),
        f"{model}/summary": _get("Pictures of all items.", views, number),
        "/api/learning": _get("A fit under way, or its end; with learn --watch alone.", LEARNING),
        "/health": _get("Whether the server answers; needs no token.", {"type": "object"}),
        "/metrics": _get("Counts and times, as Prometheus reads them.", None),
    }
    about = (
        f"Bodies have at most {limits.body} bytes; {limits.at_once} questions are answered at once, each "
        f"within {limits.seconds:g} seconds. The token stands first in the path, or in an "
        "Authorization header."
    )
    return {
        "openapi": "3.1.0",
        "info": {"title": "Sigmastar", "version": __version__, "description": about},
        "paths": paths,
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{"token": []}],
    }


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "required": list(properties), "properties": properties}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _in_path(name: str, about: str) -> Schema:
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": about,
        "schema": {"type": "integer", "minimum": 0},
    }


def _in_query(name: str, schema: Schema) -> Schema:
    return {"name": name, "in": "query", "required": False, "schema": schema}


def _answers(schema: Schema | None) -> Schema:
    kind = "text/plain" if schema is None else "application/json"
    problem = {"application/json": {"schema": _object(error={"type": "string"})}}
    return {
        "200": {"description": "The answer.", "content": {kind: {"schema": schema or {"type": "string"}}}},
        "202": {"description": "The model is being opened: to be asked again after Retry-After seconds."},
        "default": {"description": "One line that says what is wrong.", "content": problem},
    }


def _get(about: str, schema: Schema | None, *parameters: Schema) -> Schema:
    return {"get": {"summary": about, "parameters": list(parameters), "responses": _answers(schema)}}


def _post(about: str, body: Schema, schema: Schema, *parameters: Schema) -> Schema:
    content = {"required": True, "content": {"application/json": {"schema": body}}}
    described = {"summary": about, "parameters": list(parameters), "requestBody": content}
    return {"post": {**described, "responses": _answers(schema)}}
