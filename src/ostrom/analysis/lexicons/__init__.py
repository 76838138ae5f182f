"""Words in reasoning traces: published and own term lists, counted fast and identically everywhere.

Matching ignores case; a gap inside a term is any run of white space and hyphens; terms start and end where
letters and digits do. Each list has a rule (``Lexicon.mode``): word, inflected, prefix or substring. A *word*,
for frequencies per 1,000 words, is a stretch of text without white space, as ``str.split`` counts.

>>> key = ("model-a", 80)
>>> traces = [(key, "They may defect again; the risk is real."), (key, "Trust builds trust.")]
>>> lists = (*memory_curse(), defection())
>>> summary = summarize(count_batches(traces, lists), group=lambda key: key)[key]
>>> summary.matches["paranoia"], summary.ratio_of_sums("paranoia_ratio"), summary.share_of_traces("defection")
(2, 0.5, 0.5)
"""

from ostrom.analysis.lexicons.builtin import defection, memory_curse, persona_keywords
from ostrom.analysis.lexicons.counts import (
    RATIOS,
    CountBatch,
    Ratio,
    TraceCounts,
    count_batches,
    count_traces,
)
from ostrom.analysis.lexicons.files import LexiconWarning, load_lexicons
from ostrom.analysis.lexicons.groups import GroupSummary, mean_of_group_ratios, summarize
from ostrom.analysis.lexicons.keywords import KeywordUse, keyword_profile
from ostrom.analysis.lexicons.lexicon import MODES, Lexicon, Mode, matched
from ostrom.analysis.lexicons.matcher import Matcher, Span, highlight
from ostrom.analysis.lexicons.reference import regex_spans

__all__ = [
    "MODES",
    "RATIOS",
    "CountBatch",
    "GroupSummary",
    "KeywordUse",
    "Lexicon",
    "LexiconWarning",
    "Matcher",
    "Mode",
    "Ratio",
    "Span",
    "TraceCounts",
    "count_batches",
    "count_traces",
    "defection",
    "highlight",
    "keyword_profile",
    "load_lexicons",
    "matched",
    "mean_of_group_ratios",
    "memory_curse",
    "persona_keywords",
    "regex_spans",
    "summarize",
]
