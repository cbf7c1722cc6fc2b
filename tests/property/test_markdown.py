"""Whatever others write, a page made of it has no link, no HTML and no mention, and keeps its shape."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from swarm.core.markdown import code, fenced, folded, inline, prose

PIECES = (
    *("@team", "@", "#", "1", "#1", "GH-1", "closes", "http://x.invalid", "www.x.invalid", "a@b.invalid"),
    *(
        "`",
        "``",
        "```",
        "~~~",
        "~",
        "*",
        "**",
        "_",
        "__",
        "[",
        "]",
        "(",
        ")",
        "!",
        "<",
        ">",
        "<b>",
        "<!--",
        "-->",
    ),
    *(
        "</details>",
        "|",
        "\\",
        "\\|",
        "&lt;",
        "&#64;",
        "-",
        "- ",
        "+ ",
        "1. ",
        "---",
        "===",
        "# ",
        "    ",
        "\t",
    ),
    *(
        "\n",
        "\n\n",
        " ",
        "/merge",
        "/",
        "$",
        "$1",
        "word",
        "é",
        "\u202e",
        "\u200b",
        "\x1b",
        "\r",
        "\u2028",
        ".",
    ),
)
texts = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)
MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])
QUIET = {"paragraph", "inline", "text", "code_inline", "softbreak", "fence", "bullet_list", "ordered_list"}
QUIET |= {"list_item"}
ACTS = re.compile(r"@\w|#\d|GH-\d|://|www\.|(?:^|\n)\s*/[a-z]", re.IGNORECASE)


def parsed(page: str) -> list[Any]:
    tokens = MARKDOWN.parse(page)
    return [piece for token in tokens for piece in (token, *(token.children or ()))]


def kinds(tokens: list[Any]) -> set[str]:
    return {token.type.removesuffix("_open").removesuffix("_close") for token in tokens}


def spoken(tokens: list[Any]) -> list[str]:
    """Return the text of each line, as one where pieces follow each other without code between them."""
    lines, line = [], ""
    for token in tokens:
        if token.type == "text":
            line += token.content
        elif token.type != "inline" and line:
            lines.append(line)
            line = ""
    return [*lines, line]


@given(texts)
def test_prose_says_something_and_does_nothing(text: str) -> None:
    tokens = parsed("\n".join(["before", "", *prose(text), "", "after"]))

    assert kinds(tokens) <= QUIET
    assert not any(ACTS.search(line) for line in spoken(tokens))
    assert next(token.content for token in tokens if token.type == "inline") == "before"
    assert tokens[-2].content == "after"


@given(texts, texts, texts)
def test_a_row_of_a_table_stays_one(first: str, second: str, third: str) -> None:
    cells = " | ".join(inline(text, in_table=True) for text in (first, second, third))
    tokens = parsed(f"| a | b | c |\n| --- | --- | --- |\n| {cells} |\n\nafter")

    assert [token.type for token in tokens].count("td_open") == 3
    assert kinds(tokens) <= QUIET | {"table", "thead", "tbody", "tr", "th", "td"}
    assert not any(ACTS.search(line) for line in spoken(tokens))
    assert tokens[-2].content == "after"


@given(texts, texts)
def test_code_and_what_is_folded_stay_in_their_places(text: str, other: str) -> None:
    page = [
        "# a",
        "",
        f"- {code(text)}: {inline(other)}",
        "",
        *folded("more", fenced(text)),
        "",
        *fenced(other),
    ]
    tokens = parsed("\n".join([*page, "", "after"]))

    assert kinds(tokens) <= QUIET | {"heading", "html_block"}
    html = [token.content.strip() for token in tokens if token.type == "html_block"]
    assert html == ["<details><summary>more</summary>", "</details>"]
    assert [token.type for token in tokens].count("fence") == 2
    assert tokens[-2].content == "after"
    assert not any(ACTS.search(line) for line in spoken(tokens))
