"""Import of recorded rounds as a run: CSV files and a mapping of their columns."""

from ostrom.features.importing.mapping import Mapping, load_mapping, mapping_names
from ostrom.features.importing.write import Imported, import_rounds

__all__ = ["Imported", "Mapping", "import_rounds", "load_mapping", "mapping_names"]
