"""Words that people use for the same thing when they look for a tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_SAME = """
create add new make generate
delete remove erase drop
get read show view retrieve fetch display see open
list all every enumerate
find search look query lookup
update edit change modify set adjust rewrite alter
write post publish submit put insert
run start execute trigger launch begin rerun
cancel stop end kill terminate abort
copy duplicate clone
pull_request pr mr merge_request
issue bug defect ticket report
diff difference change compare
comment reply respond
page article wiki
wiki confluence
excel spreadsheet workbook xlsx
sheet worksheet tab
chart graph plot diagram
photo picture image screenshot
screenshot capture snapshot
click press tap
website site web webpage url internet online browser
paper preprint article publication study arxiv
citation cite reference
memory entity observation knowledge fact
directory folder
content text
workflow ci pipeline build action job
fail failed failure failing error
alert vulnerability vulnerable security advisory
gist snippet
commit revision
merge combine join
label tag
notification inbox
attachment attach
documentation docs manual guide reference
sql sqlite database
timezone zone
user person people colleague teammate member someone
review reviewer approve
log logs output message
info information metadata detail property attribute
size large big
column field
row record
cell range
formula calculate compute
scrape crawl extract
dialog popup alert prompt
sum total plus
branch checkout
milestone sprint iteration
convert transform translate
compress zip gzip
export save download
import load
repository repo project
status state transition progress
permission access restriction
history log past
fork star
assign assignee responsible
link connect relate
board kanban
epic initiative
wait sleep delay
shape drawing picture
upload push
undo revert reset
who author blame
author creator
time clock
date day
validation dropdown choice
hyperlink link url
environment env variable
tree hierarchy structure
input fill type enter
fill form
performance speed slow
network request
throttle slow emulate
simulate emulate
device mobile phone
console javascript
question elicitation ask
summary abstract
format style color highlight
conditional threshold highlight
freeze pane layout
pivot group
team group
subscribe watch follow
reaction emoji
discussion thread
release version
secret token
sub parent child
"""
"""A line for words of which each may stand for the others; `pull_request` is two words side by side."""

_MAY_MEAN = """
wrote > author
recall > search read
remember > create add
leak > heap
popup > accept handle
blocked > dependency link
waiting > dependency
depend > dependency
story > issue
task > issue
several > batch multiple files
many > batch multiple
together > batch multiple
recent > latest
latest > list
share > create
colleague > reviewer
teammate > reviewer assign
hand > assign
move > transition
put > link move
under > parent link
epic > link
modified > info date
modification > info
saved > info modified
already > duplicate
same > duplicate
similar > duplicate search
weather > forecast
translate > convert
where > search
used > search
topic > search
page > read
news > search
largest > size
biggest > size
smaller > compress
staged > staged
publicly > public
staff > user
document > page
limit > restrict restriction
often > views count
close > state
done > state
publish > create
draw > create
"""
"""A word, and what a tool for it may be called; not the other way round."""

_FILLERS = """
a about all already am an and any are as at be been by can could did do does for from has have how i if in into is it
its just last me my need of on only or our please should since so some something that the their them there these this
those to us want was we what when where which who why will with would you your
"""
_FILLER_WORDS = frozenset(_FILLERS.split())


def _table() -> Mapping[str, tuple[str, ...]]:
    table: dict[str, dict[str, None]] = {}
    for line in _SAME.split('\n'):
        words = line.split()
        for word in words:
            table.setdefault(word, {}).update(dict.fromkeys(other for other in words if other != word))
    for line in _MAY_MEAN.split('\n'):
        word, _, others = line.partition(' > ')
        table.setdefault(word, {}).update(dict.fromkeys(others.split()))
    return {word: tuple(others) for word, others in table.items()}


_SYNONYMS = _table()


def concepts_of(words: Sequence[str]) -> list[str]:
    """What a query asks for, in its order: words that tell something, and pairs that stand for one thing.

    A query of nothing but fillers is taken as it is.
    """
    telling = [word for word in words if word not in _FILLER_WORDS] or list(words)
    concepts: dict[str, None] = {}
    at = 0
    while at < len(telling):
        pair = '_'.join(telling[at : at + 2])
        is_pair = '_' in pair and pair in _SYNONYMS
        concepts[pair if is_pair else telling[at]] = None
        at += 2 if is_pair else 1
    return list(concepts)


def synonyms_of(concept: str) -> Sequence[str]:
    """Other words for the same thing, `_` between those that stand side by side."""
    return _SYNONYMS.get(concept) or _SYNONYMS.get(concept.removesuffix('s')) or ()
