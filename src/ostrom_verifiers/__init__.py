"""The studies of Ostrom, where ``verifiers`` looks for them: in a package that has the name of a taskset."""

from ostrom.features.environments.integrations.verifiers import OneCall, StudyEnv, StudyTaskset

__all__ = ["OneCall", "StudyEnv", "StudyTaskset"]
