"""A report taken apart as a browser would: a tree of elements, and the rules that every page of ours keeps."""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise
from xml.etree import ElementTree

VOID = {"meta"}
KNOWN = set(
    "html head meta title style body header main section nav footer h1 h2 h3 p ul ol li a em strong div span "
    "table caption thead tbody tr th td figure figcaption svg path rect text g clippath".split()
)
OUTSIDE = re.compile(r"https?:|//\w|javascript:|data:|@import|url\((?!#)", re.IGNORECASE)


@dataclass
class Element:
    tag: str
    attributes: dict[str, str | None]
    children: "list[Element | str]" = field(default_factory=list)

    @property
    def text(self) -> str:
        parts = (child if isinstance(child, str) else child.text for child in self.children if not _is_hidden(child))
        return re.sub(r"\s+", " ", "".join(parts))

    def all(self, *tags: str) -> "list[Element]":
        found = [self] if self.tag in tags else []
        return found + [e for child in self.children if isinstance(child, Element) for e in child.all(*tags)]

    def everything(self) -> "list[Element]":
        return [self, *(e for child in self.children if isinstance(child, Element) for e in child.everything())]


def _is_hidden(child: "Element | str") -> bool:
    return isinstance(child, Element) and child.tag in ("style", "svg")


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"an attribute twice in {tag}"
        made = Element(tag, dict(attrs))
        self.open[-1].children.append(made)
        if tag not in VOID:
            self.open.append(made)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def read(page: str) -> Element:
    """Return the tree of a page whose every element is closed in its place."""
    builder = _Builder()
    builder.feed(page)
    builder.close()
    assert builder.open == [builder.root], [e.tag for e in builder.open]
    return builder.root


def check(page: str) -> Element:
    """Assert what every report keeps, and return its tree."""
    assert page.startswith("<!doctype html>\n")
    tree = read(page)
    (html,) = tree.all("html")
    assert html.attributes["lang"] == "en"
    metas = {e.attributes.get("name"): e.attributes.get("content") for e in tree.all("meta")}
    assert metas["generator"] == "paraboloid report" and "width=device-width" in str(metas["viewport"])
    _check_nothing_from_outside(tree)
    _check_headings(tree)
    _check_pictures(page, tree)
    _check_tables(tree)
    _check_identifiers(tree)
    words = re.findall(r"[\w.+-]+", tree.all("body")[0].text)
    assert not {"nan", "inf", "-inf", "None", "-0"} & set(words), "a number that is none reached the reader"
    return tree


def _check_nothing_from_outside(tree: Element) -> None:
    for element in tree.everything():
        assert element.tag in KNOWN | {""}, f"<{element.tag}> has no place in a report"
        for name, value in element.attributes.items():
            assert not name.startswith("on") and name not in ("src", "srcset", "xlink:href", "action", "style"), name
            if name == "href":
                assert str(value).startswith("#")
            if name not in ("data-label", "content"):
                assert not OUTSIDE.search(str(value)), (name, value)
    for style in tree.all("style"):
        assert not OUTSIDE.search("".join(str(child) for child in style.children))


def _check_headings(tree: Element) -> None:
    levels = [int(e.tag[1]) for e in tree.all("h1", "h2", "h3")]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(b <= a + 1 for a, b in pairwise(levels)), levels
    assert all(e.text.strip() for e in tree.all("h1", "h2", "h3"))


def _check_pictures(page: str, tree: Element) -> None:
    for figure in tree.all("figure"):
        (caption,) = figure.all("figcaption")
        assert len(figure.all("svg")) == 1
        assert caption.text.strip().endswith("."), "a caption is a sentence"
    assert len(tree.all("figure")) == len(tree.all("svg"))
    for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        drawn = ElementTree.fromstring(svg)  # well-formed, and so every text in it is escaped
        assert drawn.get("role") == "img"
        title = drawn[0]
        assert title.tag == "title" and title.text and title.get("id") == drawn.get("aria-labelledby")
        assert not re.search(r"nan|inf", "".join(path.get("d", "") for path in drawn.iter("path")))


def _check_tables(tree: Element) -> None:
    for table in tree.all("table"):
        heads = table.all("thead")[0].all("th")
        assert table.all("caption")[0].text.strip()
        assert all(e.attributes.get("scope") in ("col", "row") for e in table.all("th"))
        for row in table.all("tbody")[0].all("tr"):
            assert len(row.all("th", "td")) == len(heads)
            labels = [e.attributes.get("data-label") for e in row.all("td")]
            assert labels == [re.sub(r"\s+", " ", head.text) for head in heads[1:]]


def _check_identifiers(tree: Element) -> None:
    names = [e.attributes["id"] for e in tree.everything() if "id" in e.attributes]
    assert len(names) == len(set(names))
    for element in tree.everything():
        for attribute in ("aria-labelledby", "href"):
            if attribute in element.attributes:
                assert str(element.attributes[attribute]).removeprefix("#") in names


def section(tree: Element, name: str) -> Element | None:
    """Return the section of a report by the identifier of its heading."""
    found = [e for e in tree.all("section") if e.attributes.get("aria-labelledby") == name]
    return found[0] if found else None
