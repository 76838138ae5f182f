"""Words in reasoning traces: published and own term lists, counted fast and identically everywhere.

Matching ignores case; a gap inside a term is any run of white space and hyphens; terms start and end where
letters and digits do. Each list has a rule (``Lexicon.mode``): word, inflected, prefix or substring. A *word*,
for frequencies per 1,000 words, is a stretch of text without white space, as ``str.split`` counts.

>>> [batch] = count_batches([("t1", "They may defect again; the risk is real.")], (*memory_curse(), defection()))
>>> [(trace.words, trace.counts["paranoia"], trace.counts["defection"]) for trace in batch]
[(8, 2, 1)]
"""

from ostrom.features.words.lexicons.files import (
    LexiconWarning,
    defection,
    load_lexicons,
    memory_curse,
    normative,
    persona_keywords,
)
from ostrom.features.words.lexicons.lexicon import MODES, Lexicon, Mode, matched
from ostrom.features.words.lexicons.matcher import (
    RATIOS,
    CountBatch,
    Matcher,
    Ratio,
    Span,
    TraceCounts,
    count_batches,
    highlight,
)

__all__ = [
    "MODES",
    "RATIOS",
    "CountBatch",
    "Lexicon",
    "LexiconWarning",
    "Matcher",
    "Mode",
    "Ratio",
    "Span",
    "TraceCounts",
    "count_batches",
    "defection",
    "highlight",
    "load_lexicons",
    "matched",
    "memory_curse",
    "normative",
    "persona_keywords",
]
