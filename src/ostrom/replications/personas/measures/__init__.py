"""Measures of Manoranjan & Gaikwad (2026): what profiles are, and what choices cost."""
