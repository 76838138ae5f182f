"""First option: how often a player takes the option that its prompt names first."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="first_option",
    title="First option named",
    scale="share",
    definition=(
        "The share of a player's actions that are the option which its prompt named first. Near 1, whatever that "
        "option is, a model does not read the game; players without prompts have no value."
    ),
    needs=("decisions.options", "decisions.label"),
    values=(
        "SELECT match, player, avg((label = json_extract_string(options, '$[0]'))::INTEGER) AS value FROM decisions "
        "WHERE kind = 'act' AND options IS NOT NULL AND label IS NOT NULL AND NOT coalesce(invalid, false) "
        "GROUP BY match, player"
    ),
    source="Akata et al. (2025), Methods",
)
