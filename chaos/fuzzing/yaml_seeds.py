"""Small valid files of every kind that people write, and the words that make them go wrong."""

from __future__ import annotations

WORDS = (
    "&a ", "*a", "*b", "<<: ", "? ", "- ", ": ", "|\n", ">\n", "!!int ", "!!float ", "!!bool ", "!!timestamp ",
    "!!binary ",
    "!!set ", "!!omap ", "!!pairs ", "!!null ", "!!python/object/apply:os.system ", "!x ", "%YAML 9.9\n",
    "---\n", "...\n",
    "{", "}", "[", "]", "null", "~", "true", "no", "=", "\t", "2001-01-01", "2001-99-99",
    "2001-01-01T99:99:99Z", ".nan", ".inf",
    "{a: &a [1, *a]}", "&a {x: *a}", "'", '"', '"\\x"', '"\\ud800"', "# ", "name", "file: ", "from: ", "set: ",
    "to: ",
)  # fmt: skip


def bomb(key: str, levels: int = 40) -> str:
    """YAML whose aliases stand for two to the power of ``levels`` values: small on disk, endless unfolded."""
    lines = ["bomb0: &b0 [x, x]"] + [f"bomb{n}: &b{n} [*b{n - 1}, *b{n - 1}]" for n in range(1, levels)]
    return "\n".join([*lines, f"{key}: *b{levels - 1}", ""])


STUDIES = (
    """name: small
game: {name: prisoners_dilemma, preset: memory_curse}
mechanism: {name: repetition, rounds: 3, told_continuation: 0.9}
agent: {style: reasoned, memory: "window:3", framing: {order: shuffled}, params: {temperature: 0.7}}
types: {m: {model: "scripted/first"}, tft: tit_for_tat, r: "random:0.5"}
seating: ordered
vary:
  mechanism.rounds: [1, 2]
  history: {set: agent.memory, to: ["window:1", full]}
seeds: 2
invalid: {retries: 1, policy: uniform}
budget: {calls: 10}
presets: {smoke: {seeds: 1, vary: {history: null}}}
""",
    """name: other
title: Other
game: {actions: [a, b], payoffs: [[[1, 1], [0, 2]], [[2, 0], [0, 0]]], cooperative: a}
types: {x: cooperator, y: {strategy: {name: generous, p: 0.3}}}
seating: unordered
seats: {1: {persona: You are kind.}}
vary: {who: {one: {seats.1.persona: A}, two: {seats.1.persona: B}}}
report: {panels: [cost]}
""",
    """name: third
game: public_goods:n=3
mechanism: {name: reputation, rounds: 2}
types: {x: cooperator, y: defector}
vary: {game: {from: ordinal_2x2, each: 1}}
""",
    bomb("types"),
    "name: x\ngame: chicken\n" + bomb("vary"),
)

GAMES = (
    """name: mine
title: Mine
actions: [cooperate, defect]
cooperative: cooperate
payoffs:
  cooperate, cooperate: [3, 3]
  cooperate, defect: [0, 5]
  defect, cooperate: [5, 0]
  defect, defect: [1, 1/3]
words: {narrative: A lake., titles: [Owner, Neighbour], actions: [[rest, fish], [rest, fish]]}
""",
    "seats: 3\nactions: [a, b]\nroles: [x, x, x]\npayoffs: [[[[1,1,1],[0,0,0]],[[0,0,0],[1,1,1]]],"
    "[[[1,1,1],[0,0,0]],[[0,0,0],[1,1,1]]]]\nparams: {k: 1}\n",
    "{actions: [[up, down]], payoffs: [[1], [2]]}",
    "actions: [a, b]\n" + bomb("payoffs"),
)

NFG = (
    'NFG 1 R "Pennies" { "A" "B" } { 2 2 } 1 -1 -1 1 -1 1 1 -1',
    'NFG 1 D "Three" { "Ann" "Bob" }\n{ { "x" "y" } { "l" "r" } }\n"comment"\n{\n'
    '{ "one" 1, 2 }\n{ "two" 3/4, .5e1 }\n}\n1 2 0 2\n',
    'NFG 1 R "Say \\"hi\\"" { "p 1" "p 2" "p 3" } { 1 2 1 } 1 2 3 4 5 6',
)
NFG_WORDS = ("NFG", "1", "R", "D", '"', "{", "}", ",", "999999999", "12345678901", "-", "1/0", "\\", '\\"', "0", "2")

PRICES = ("openai/x: {input: 0.15, output: 0.6, cached: 0.075}\nlab/own: {input: 1, output: 2}\n", bomb("lab/own"))

STORIES = (
    "---\nplayer: cook\nplayers: cooks\noption: recipe\n---\n"
    "You compete. {{ words.player }} {% if facts.x is defined %}x{% endif %}\n",
    "No header, only {{ words.player }}.\n",
    "---\n" + bomb("player") + "---\ntext\n",
)
STORY_WORDS = (
    *WORDS,
    "{{",
    "}}",
    "{%",
    "%}",
    "{% include 'x' %}",
    "{{ 1/0 }}",
    "{{ words.player|percent }}",
    "{#",
    "{{ 9**9**9 }}",
)

LEXICONS = (
    "source: me\nmode: prefix\nlexicons:\n  hope: [future, long-term]\n"
    "  doubt: {mode: word, terms: [unsure, in doubt], labels: [A1], source: Table 3}\n",
    "lexicons: {roles: ['as an [X]', c*, '*']}\n",
    bomb("lexicons"),
)
LEXICONS_JSON = ('{"lexicons": {"hope": ["future"], "doubt": {"mode": "word", "terms": ["a b"]}}, "source": "x"}',)
LEXICON_WORDS = (*WORDS, "lexicons", "terms", "labels", "mode", "word", "prefix", "phrase", "stem", "[X]", "ß", "İ")

MOTIVES = (
    "motives:\n  own: {title: Own, definition: Mine alone.}\n  all: {title: All, definition: Ours.}\n",
    bomb("motives"),
)

MAPPINGS = (
    """title: t
game: prisoners_dilemma
match: {by: [m]}
round: r
seats:
  1: {player: p1, action: a1, payoff: s1}
  2: {player: {value: Bob}, action: a2, total: t2}
actions: {J: cooperate, F: 2, 1.0: 1}
illegal: [X, null]
on_illegal: skip-match
factors: {temperature: t}
""",
    """game: {column: g, is: {1: chicken, pd: {name: prisoners_dilemma}}}
separator: ";"
rows: match
match: {by: [g], new_when: r}
players: {player: p, action: a, seat: s}
actions: {C: 1, D: 2}
rounds: any
names: {a: b}
""",
    "game: {column: g, spec: 'ordinal_2x2:{}'}\nrounds: 3\n",
    "game: chicken\n" + bomb("actions"),
)
TABLE = "m,r,p1,a1,s1,p2,a2,t2,t,g\n1,1,Ann,J,3,Bob,J,3,0.5,1\n1,2,Ann,F,5,Bob,J,3,0.5,1\n"
