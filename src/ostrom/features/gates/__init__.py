"""Statements about a run (gates), judged by confidence bounds."""
