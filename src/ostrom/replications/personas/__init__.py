"""Manoranjan & Gaikwad (2026), When Personas Override Payoffs."""
