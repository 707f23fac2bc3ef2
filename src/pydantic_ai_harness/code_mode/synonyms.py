"""Words that people use for the same thing when they look for a tool."""

from __future__ import annotations

from collections.abc import Iterable

_GROUPS = """
add create generate make new
delete drop erase remove
display get read retrieve see show view
all enumerate every list
find look lookup query search seek
adjust change edit modify rewrite set update
post publish send share submit write
begin execute launch rerun restart run start trigger
cancel end kill stop terminate
assign assignee give owner
move transition status progress state
limit permission restrict restriction
approve review reviewer reviewers
copy duplicate clone fork
bug defect issue report story task ticket
mr pr pull request
changed changes diff difference modified
code function method source
comment note reply respond
article confluence page wiki
jira sprint backlog board epic
excel sheet spreadsheet workbook worksheet
bar chart diagram graph pie plot
cell cells range value values
column columns describe field fields schema types
highlight conditional color threshold
choices dropdown options validation
freeze layout header pane
capture image photo picture screenshot snapshot
click press tap
browser internet online site url web website
connection emulate network offline simulate slow throttle
console errors javascript log logs message messages output
performance profile speed trace
arxiv paper papers preprint publication research study
citation citations cite references
entity fact knowledge memory observation recall remember node
clock date time timezone zone
calendar day schedule
colleague member people person teammate user
directory folder path
attribute info metadata properties size modified
content contents text
build ci continuous job pipeline workflow actions
fail failed failure failing
alert alerts dependabot dependency security vulnerability vulnerable
gist snippet
branch ref
commit commits history
merge combine join
label tag tags
notification notifications inbox
release version
fork star starred
attach attachment upload
download save export
documentation docs guide manual reference
convert translate transform
database sql sqlite
execute statement
count how many number times often views
permission access visible see
subscribe watch follow
"""

_EVERYWHERE = """
a about all an and any are as at be by can do does for from has have how i in into is it its me my of on or our that the
their them there these this those to us was we what when where which who why with you your
"""
_STOP_WORDS = frozenset(_EVERYWHERE.split())


def _table() -> dict[str, set[str]]:
    table: dict[str, set[str]] = {}
    for line in _GROUPS.strip().splitlines():
        words = set(line.split())
        for word in words:
            table.setdefault(word, set()).update(words - {word})
    return table


_SYNONYMS = _table()


def telling_words(words: Iterable[str]) -> list[str]:
    """The words without those that every sentence has; all of them, if there are no others."""
    distinct = list(dict.fromkeys(words))
    return [word for word in distinct if word not in _STOP_WORDS] or distinct


def synonyms_of(words: Iterable[str]) -> list[str]:
    """Other words for the same things."""
    given = list(words)
    found = {other for word in given for other in _SYNONYMS.get(word) or _SYNONYMS.get(word.removesuffix('s')) or ()}
    return sorted(found - set(given))
