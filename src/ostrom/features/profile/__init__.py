"""Profiles: a declared battery of studies for one model or several, sized to a budget, as pages with intervals."""
